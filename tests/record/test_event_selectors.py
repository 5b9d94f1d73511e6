"""Asking for the events of an object."""

from __future__ import annotations

import pytest

from clientgo.api.core_v1 import ObjectReference
from clientgo.record import events_about

_POD = ObjectReference(
    kind="Pod", api_version="v1", namespace="ns", name="web", uid="u1", resource_version="9"
)


@pytest.mark.parametrize(
    ("api_version", "expected"),
    [
        (
            "v1",
            "involvedObject.apiVersion=v1,involvedObject.kind=Pod,"
            "involvedObject.name=web,involvedObject.uid=u1",
        ),
        (
            "events.k8s.io/v1",
            "regarding.apiVersion=v1,regarding.kind=Pod,regarding.name=web,regarding.uid=u1",
        ),
    ],
)
def test_each_api_has_its_own_name_for_the_object(api_version: str, expected: str) -> None:
    """EVT-12."""
    assert str(events_about(_POD, api_version)) == expected


def test_what_a_reference_leaves_open_is_not_asked_for() -> None:
    """EVT-12."""
    assert str(events_about(ObjectReference(name="web"))) == "involvedObject.name=web"
    assert events_about(ObjectReference()).empty


def test_a_version_without_events_is_refused() -> None:
    """EVT-12."""
    with pytest.raises(ValueError, match=r"no events in 'apps/v1', only in v1 and events\.k8s"):
        events_about(_POD, "apps/v1")
