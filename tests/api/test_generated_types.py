"""The generated types say what the API's schemas say, and lose nothing."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import clientgo.api
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, Event, PodSpec, PodTemplateSpec, Secret
from clientgo.api.meta_v1 import LabelSelector
from clientgo.codegen.openapi_types import MODULES
from clientgo.meta import Codec, ObjectMeta, Resource, Scheme, misfits, resource_of
from clientgo.testcluster.schema.openapi import openapi_documents

_DOCUMENTS = [json.loads(document.text) for document in openapi_documents().values()]
_SCHEMAS = {
    name: schema
    for document in _DOCUMENTS
    for name, schema in document.get("components", {}).get("schemas", {}).items()
}
_MODULES = {name: importlib.import_module(f"clientgo.api.{name}") for name in MODULES.values()}
_KINDS = [kind for module in _MODULES.values() for kind in getattr(module, "RESOURCES", ())]


def _structs() -> Iterator[Any]:
    """Every generated class, with the schema that it was made from."""
    for package, name in MODULES.items():
        for attribute, declared in vars(_MODULES[name]).items():
            if getattr(declared, "__module__", "") != _MODULES[name].__name__:
                continue
            schema = _SCHEMAS[f"{package}.{attribute.removeprefix('Embedded')}"]
            yield pytest.param(declared, schema, id=f"{name}.{attribute}")


@pytest.mark.parametrize(("declared", "schema"), list(_structs()))
def test_a_type_has_the_fields_of_its_schema_by_their_exact_names(
    declared: Any, schema: dict[str, Any]
) -> None:
    is_kind = issubclass(declared, Resource)
    body = declared.__body__ if is_kind else declared
    header = {"apiVersion", "kind", "metadata"} if is_kind else set()

    assert set(body.__struct_encode_fields__) == schema["properties"].keys() - header


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_can_be_decoded_from_its_name_alone_or_says_what_it_lacks(kind: Any) -> None:
    obj = Codec(kind).decode(b'{"metadata":{"name":"a"}}')

    missing = {
        f"{field.encode_name}: required, and missing"
        for field in msgspec.structs.fields(kind.__body__)
        if field.required
    }

    if missing:
        assert missing <= set(misfits(obj))
    else:
        assert obj.to_dict() == Codec(kind).decode(b'{"metadata":{"name":"a"}}').to_dict()


def test_every_kind_that_is_served_in_these_groups_is_declared() -> None:
    declared = {resource_of(kind).gvr for kind in _KINDS}

    collections = re.compile(r"/apis?/(([^/]+)/)?(v\d)/(namespaces/{namespace}/)?([^/{]+)")
    served = {
        (match[2] or "", match[3], match[5])
        for document in _DOCUMENTS
        for path, operations in document["paths"].items()
        if "post" in operations and (match := collections.fullmatch(path))
    }
    not_generated = {("apiregistration.k8s.io", "v1", "apiservices")}

    assert declared == served - not_generated
    assert len(list(Scheme(_KINDS))) == len(_KINDS)


def test_every_module_of_the_package_is_known() -> None:
    modules = {module.name for module in pkgutil.iter_modules(clientgo.api.__path__)}

    assert modules == set(MODULES.values()) | {"wire"}


def test_what_was_not_said_is_not_sent() -> None:
    deployment = Deployment(
        metadata=ObjectMeta(name="a"),
        spec=DeploymentSpec(
            replicas=0,
            selector=LabelSelector(match_labels={"app": "a"}),
            template=PodTemplateSpec(spec=PodSpec(containers=[Container(name="a")])),
        ),
    )

    assert deployment.to_dict() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "a"}},
            "strategy": {},
            "template": {
                "metadata": {},
                "spec": {"containers": [{"name": "a", "resources": {}}]},
            },
        },
        "status": {},
    }


def test_an_object_of_a_newer_server_keeps_what_its_type_does_not_know() -> None:
    wire = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {
            "selector": {},
            "template": {"spec": {"containers": [{"name": "a", "novel": 1}]}},
            "unheardOf": {"deep": [1]},
        },
    }
    deployment = Codec(Deployment).decode(json.dumps(wire).encode())

    deployment.spec.replicas = 2

    assert deployment.to_dict()["spec"] == {**wire["spec"], "replicas": 2}


def test_nulls_that_go_writes_are_read_as_absent() -> None:
    event = Codec(Event).decode(
        b'{"metadata":{"name":"e","creationTimestamp":null},"involvedObject":{},'
        b'"firstTimestamp":null,"eventTime":null,"series":null,"source":{}}'
    )

    assert event.first_timestamp is None
    assert event.source.component is None


def test_secret_data_is_bytes() -> None:
    secret = Codec(Secret).decode(b'{"metadata":{"name":"s"},"data":{"password":"aHVudGVy"}}')

    assert secret.data == {"password": b"hunter"}
    assert Secret(data={"password": b"hunter"}).to_dict()["data"] == {"password": "aHVudGVy"}


def test_a_schema_in_a_custom_resource_definition_is_typed_all_the_way_down() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "array",
                "items": {"x-kubernetes-int-or-string": True, "not": {"enum": [1, "a", None]}},
            }
        },
        "additionalProperties": False,
    }
    wire = {
        "metadata": {"name": "c"},
        "spec": {
            "group": "g",
            "names": {"kind": "Foo", "plural": "foos"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }

    crd = Codec(CustomResourceDefinition).decode(json.dumps(wire).encode())

    props = crd.spec.versions[0].schema.open_api_v3_schema
    assert props.properties["spec"].items.x_kubernetes_int_or_string is True
    assert props.properties["spec"].items.not_.enum == [1, "a", None]
    assert props.additional_properties is False
    assert msgspec.to_builtins(crd.spec)["scope"] == "Namespaced"


def test_one_group_does_not_load_the_others() -> None:
    script = (
        "import sys, clientgo.api.coordination_v1;"
        "print([m for m in sys.modules if m.startswith('clientgo.api.') or m == 'kubernetes'])"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert "core_v1" not in loaded
    assert "kubernetes" not in loaded
