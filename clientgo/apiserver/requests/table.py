"""Tables: what ``kubectl get`` prints, made by the server.

Upstream: ``pkg/printers`` and apiextensions ``tableconvertor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clientgo.apiserver.http.negotiation import Included
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.storage.storage import Object


def make_table(
    resource: Resource,
    objects: Sequence[Object],
    metadata: dict[str, Any],
    included: Included = Included.METADATA,
) -> dict[str, Any]:
    """A Table of objects; ``metadata`` is that of the list."""
    columns = resource.strategy.columns
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in columns],
        "rows": [
            {
                "cells": [column.cell(obj) for column in columns],
                "object": _included_object(obj, included),
            }
            for obj in objects
        ],
    }


def _included_object(obj: Object, included: Included) -> Object | None:
    if included is Included.NONE:
        return None
    if included is Included.OBJECT:
        return obj
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }
