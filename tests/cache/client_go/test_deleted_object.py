"""What is known of an object that is gone."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown, DeletedObject
from clientgo.meta import ObjectName
from tests.cache.builders import foo


@pytest.mark.parametrize(
    ("deleted", "key", "name"),
    [
        (DeletedObject.of(foo("a")), "ns/a", ObjectName("ns", "a")),
        (
            DeletedObject.of(DeletedFinalStateUnknown("ns/b", foo("a"))),
            "ns/b",
            ObjectName("ns", "b"),
        ),
        (DeletedObject.of(DeletedFinalStateUnknown("b", None)), "b", ObjectName("", "b")),
        (
            DeletedObject.of(DeletedFinalStateUnknown("x/y/z", None)),
            "x/y/z",
            ObjectName("x", "y/z"),
        ),
        (DeletedObject(), "", ObjectName("", "")),
    ],
)
def test_a_deleted_object_always_has_a_name(
    deleted: DeletedObject[Any], key: str, name: ObjectName
) -> None:
    """KEY-09."""
    assert deleted.key == key
    assert deleted.object_name == name
    assert (deleted.namespace, deleted.name) == name


def test_the_object_of_a_tombstone_is_its_last_known_state() -> None:
    """KEY-08, KEY-09."""
    last = foo("a")
    assert DeletedObject.of(DeletedFinalStateUnknown("ns/a", last)).obj is last
    assert DeletedObject.of(DeletedFinalStateUnknown("ns/a", None)).obj is None
