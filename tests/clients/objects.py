"""Objects that the client programs work with."""

from __future__ import annotations

from typing import Any

GROUP = "clients.example.com"
VERSION = "v1"
API_VERSION = f"{GROUP}/{VERSION}"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def deployment(name: str, replicas: int = 2) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
            },
        },
    }


def widget(name: str, size: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    }


def widget_crd() -> dict[str, Any]:
    """Widgets: a size, which must be positive and is 1 by default, and a free-form status."""
    size = {"type": "integer", "minimum": 1, "default": 1, "description": "How large it is."}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": size}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [column],
                }
            ],
        },
    }
