"""Errors of custom resources beyond those of their schema."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.apiserver.crds.custom_resources import CustomStrategy
from clientgo.schema.field_errors import FieldErrorReason


def causes(metadata: Any) -> list[tuple[str, FieldErrorReason]]:
    """Fields and reasons when a resource holds another with this metadata."""
    template = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    spec = {"type": "object", "properties": {"templates": {"type": "array", "items": template}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    strategy = CustomStrategy({"schema": {"openAPIV3Schema": schema}}, {})
    embedded = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    found = strategy.validate({"spec": {"templates": [embedded]}})
    return [(cause.field.removeprefix("spec.templates[0]."), cause.reason) for cause in found]


@pytest.mark.parametrize(
    "metadata", [{}, {"name": "Any_Name"}, {"namespace": "ns", "labels": {"a/b": "c"}}]
)
def test_metadata_of_an_embedded_resource_may_say_little(metadata: dict[str, Any]) -> None:
    assert causes(metadata) == []


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "a/b"}, "metadata.name"),
        ({"namespace": "Upper"}, "metadata.namespace"),
        ({"labels": {"a b": ""}}, "metadata.labels"),
        ({"finalizers": ["short"]}, "metadata.finalizers"),
        ({"labels": ["no", "map"]}, "metadata"),
        ("no object", "metadata"),
    ],
)
def test_metadata_of_an_embedded_resource_is_checked_as_that_of_any_other(
    metadata: Any, field: str
) -> None:
    assert causes(metadata) == [(field, FieldErrorReason.INVALID)]
