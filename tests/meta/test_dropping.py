"""What is cut out of an object."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from clientgo.meta import Codec, ObjectMeta, Unstructured, drop_managed_fields
from tests.cache.builders import Foo

MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]


def decoded(metadata: dict[str, object], *, event: bool = False) -> Foo:
    plain = {"metadata": metadata, "spec": {"size": 3}, "more": True}
    codec = Codec(Foo)
    if event:
        decoded: Foo = codec.decode_event(
            msgspec.json.encode({"type": "ADDED", "object": plain})
        ).object
        return decoded
    return codec.decode(msgspec.json.encode(plain))


@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": MANAGED, "name": "a"},
        {"name": "a", "managedFields": MANAGED},
        {"name": "a", "managedFields": MANAGED, "uid": "u"},
        {"managedFields": MANAGED, "name": "a", "labels": {}},
        {"name": "a"},
    ],
)
def test_managed_fields_leave_nothing_behind(metadata: dict[str, object], event: bool) -> None:
    """Everything else stays."""
    obj, same = decoded(metadata, event=event), decoded(metadata, event=event)
    assert drop_managed_fields(obj)
    same.metadata.managed_fields = ()
    assert obj._raw is not None
    assert b"managedFields" not in obj._raw
    assert obj.to_dict() == same.to_dict()
    assert obj.metadata.managed_fields == ()
    assert drop_managed_fields(obj)


@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("written", [msgspec.json.encode, lambda plain: json.dumps(plain).encode()])
def test_what_looks_like_managed_fields_stays(
    written: Callable[[object], bytes], event: bool
) -> None:
    """Nor does it matter how a server writes its JSON."""
    rest = {"metadata": {"name": "a"}, "template": {"managedFields": MANAGED}, "n": 1}
    plain = {**rest, "metadata": {"name": "a", "managedFields": MANAGED}}
    codec = Codec(Unstructured)
    obj = (
        codec.decode_event(written({"type": "ADDED", "object": plain})).object
        if event
        else codec.decode(written(plain))
    )
    assert drop_managed_fields(obj)
    assert obj._raw.count(b"managedFields") == 1
    assert obj.to_dict() == {"apiVersion": "", "kind": "", **rest}


def test_other_values_are_left_alone() -> None:
    plain = {"metadata": {"managedFields": MANAGED}}
    assert not drop_managed_fields(plain)
    assert plain == {"metadata": {"managedFields": MANAGED}}


def test_an_object_that_was_made_here_loses_them_too() -> None:
    metadata = ObjectMeta(name="a")
    metadata.managed_fields = decoded({"managedFields": MANAGED}).metadata.managed_fields
    obj = Foo(metadata=metadata)
    assert drop_managed_fields(obj)
    assert "managedFields" not in obj.to_dict()["metadata"]
