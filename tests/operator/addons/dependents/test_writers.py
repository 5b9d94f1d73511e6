"""Comparing what is there with what is desired, and writing it: without a server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import Codec, ObjectMeta, resource_of
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.addons.dependents.writers import Writer
from clientgo.operator.client.applied import lacks_owned_field
from clientgo.testing import FakeClock
from tests.operator.world import Gadget, Part

MANAGER = "gadget"
LABELLED: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:ours": {}}}}


class Piece(Dependent[Part, Gadget]):
    kind = Part


class Settings(Dependent[ConfigMap, Gadget]):
    kind = ConfigMap


class StandIn:
    """A client that answers every write with the same object."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def apply(self, obj: Any) -> Any:
        return self.answer


def writer(dependent: Dependent[Any, Any] | None = None) -> Writer:
    dependent = dependent or Piece()
    kind: Any = dependent.kind
    return Writer(dependent, resource_of(kind), str(dependent), FakeClock())


def stored(*entries: dict[str, Any], size: int = 0, **labels: str) -> Part:
    """A part as a server has it, with entries of managed fields."""
    plain = {
        "apiVersion": "example.com/v1",
        "kind": "Part",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": labels,
            "managedFields": list(entries),
        },
        "spec": {"size": size, "colour": ""},
    }
    return Codec(Part).decode(msgspec.json.encode(plain))


def applied(fields: dict[str, Any], manager: str = MANAGER, **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


def desired(size: int = 0, **labels: str) -> Part:
    part = Part(metadata=ObjectMeta(name="a", namespace="default", labels=labels))
    part.spec.size = size
    return part


@pytest.mark.parametrize(
    ("actual", "wanted", "is_due"),
    [
        (stored(applied(LABELLED), ours="1"), desired(ours="1"), False),
        (stored(applied(LABELLED), ours="1", theirs="1"), desired(ours="1"), False),
        (stored(applied(LABELLED), ours="2"), desired(ours="1"), True),
        (stored(applied(LABELLED), ours="1"), desired(), True),
        (stored(applied(LABELLED, "other"), ours="1"), desired(), True),
        (stored(applied(LABELLED, subresource="status"), ours="1"), desired(), True),
        (stored(ours="1"), desired(), False),
        (stored(size=2), desired(size=2), False),
    ],
    ids=[
        "as desired",
        "more than desired by another",
        "another value",
        "a field that is not desired any more",
        "nothing applied by this manager",
        "nothing applied but a status",
        "a cache without managed fields",
        "as desired in a cache without managed fields",
    ],
)
def test_whether_something_is_due_can_be_told_without_a_request(
    actual: Part, wanted: Part, is_due: bool
) -> None:
    """OP-DEP-02"""
    assert (writer().due(actual, wanted, MANAGER) is not None) is is_due


def test_a_value_that_the_server_writes_differently_is_sent_once() -> None:
    """OP-DEP-02: what the answer looked like counts as equal, and nothing else does."""
    rewritten, kept = stored(applied({}), size=1), writer()
    wanted = desired(size=1000)
    write = kept.due(None, wanted, MANAGER)
    assert write is not None
    write(StandIn(rewritten))  # type: ignore[arg-type]

    assert kept.due(rewritten, wanted, MANAGER) is None
    assert kept.due(stored(applied({}), size=7), wanted, MANAGER) is not None
    assert kept.due(rewritten, desired(size=2000), MANAGER) is not None


def test_what_was_desired_before_is_remembered_where_managed_fields_are_not_kept() -> None:
    """OP-DEP-02"""
    there, kept = stored(ours="1"), writer()
    write = kept.due(None, desired(ours="1"), MANAGER)
    assert write is not None
    write(StandIn(there))  # type: ignore[arg-type]

    assert kept.due(there, desired(ours="1"), MANAGER) is None
    assert kept.due(there, desired(), MANAGER) is not None


def test_items_of_lists_are_found_by_their_keys() -> None:
    """OP-DEP-02: a key that was left out has its default."""
    fields: dict[str, Any] = {
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}
    }
    assert not lacks_owned_field({"ports": [{"port": 80, "name": "http"}]}, fields)
    assert lacks_owned_field({"ports": [{"port": 80}]}, fields)
    assert lacks_owned_field({"ports": [{"port": 81, "name": "http"}]}, fields)
    assert not lacks_owned_field({"finalizers": ["x"]}, {"f:finalizers": {'v:"x"': {}}})
    assert lacks_owned_field({"finalizers": []}, {"f:finalizers": {'v:"x"': {}}})


def test_other_owners_of_a_config_map_stay() -> None:
    """OP-DEP-02, OP-OWN-04"""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name} for name in "xy"]

    def config_map(*references: dict[str, Any]) -> ConfigMap:
        metadata = {"name": "a", "ownerReferences": list(references)}
        plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return Codec(ConfigMap).decode(msgspec.json.encode(plain))

    patches: list[Any] = []

    class Patching(StandIn):
        def patch(self, obj: Any, patch: Any) -> Any:
            patches.append(patch)
            return obj

    kept = writer(Settings())
    write = kept.due(config_map(owners[0]), config_map(owners[1]), MANAGER)
    assert write is not None
    write(Patching(None))  # type: ignore[arg-type]
    assert patches == [{"metadata": {"ownerReferences": owners}}]
    assert kept.due(config_map(*owners), config_map(owners[1]), MANAGER) is None
