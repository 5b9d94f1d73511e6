"""A type and its schema agree on every object."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from clientgo.codegen.schemas.type_schema import resource_schema
from clientgo.meta import Resource
from clientgo.meta.json_values import without_nulls
from clientgo.testcluster.schema import StructuralSchema
from tests.codegen.declared_types import TYPES, class_types, kind_with


def _decodes(value: Any, cls: type[Resource]) -> bool:
    try:
        msgspec.convert(value, cls.__body__)
    except msgspec.ValidationError:
        return False
    return True


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_the_schema_refuses_the_type_refuses_and_the_other_way_round(
    data: st.DataObject,
) -> None:
    declared = data.draw(class_types(TYPES))
    cls = kind_with(declared.type)
    schema = StructuralSchema.parse(resource_schema(cls), has_status=False)
    # A null is what an absent field is to a client; nothing sends it.
    sent = without_nulls({"spec": data.draw(declared.values)})

    stored, _ = schema.prune(sent)
    errors = schema.validate(stored)
    event("accepted" if not errors else "refused")

    assert _decodes(sent, cls) == (not errors), errors


@given(st.data())
def test_what_the_server_fills_in_is_what_the_type_reads_anyway(data: st.DataObject) -> None:
    inner = data.draw(class_types(TYPES))
    try:
        default = msgspec.convert(without_nulls(data.draw(inner.values)), inner.type)
    except msgspec.ValidationError:
        return
    cls = kind_with(inner.type, spec=default)
    schema = StructuralSchema.parse(resource_schema(cls))

    stored = schema.default({})

    assert msgspec.convert(stored, cls.__body__) == cls.__body__()
