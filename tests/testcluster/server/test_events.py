"""Events of both groups: what is required, and what may change."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.conversions.events import CoreEventStrategy, EventStrategy
from tests.testcluster.server.http_api import Api

CORE = CoreEventStrategy("v1", "Event")
NEW = EventStrategy("events.k8s.io/v1", "Event")
TIME = "2024-01-02T03:04:05.000000Z"
EVENTS = "/apis/events.k8s.io/v1"


def event(**fields: Any) -> dict[str, Any]:
    """Return a valid event of events.k8s.io, with some fields changed; None removes one."""
    obj = {
        "metadata": {"namespace": "n"},
        "eventTime": TIME,
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Test",
        "reason": "R",
        "type": "Normal",
        "note": "text",
        "regarding": {"namespace": "n", "name": "a"},
    }
    return {key: value for key, value in {**obj, **fields}.items() if value is not None}


def causes(errors: list[FieldError]) -> list[tuple[str, str]]:
    """Return field and reason of each error, sorted."""
    return sorted((e.field, e.reason.value.removeprefix("FieldValue")) for e in errors)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"eventTime": None}, [("eventTime", "Required")]),
        ({"eventTime": None, "action": None}, [("eventTime", "Required")]),
        ({"action": None}, [("action", "Required")]),
        ({"reason": "x" * 129}, [("reason", "Invalid")]),
        ({"note": "x" * 1025}, [("message", "Invalid")]),
        ({"type": "Bogus"}, [("type", "Invalid")]),
        ({"deprecatedCount": 1}, [("count", "Invalid")]),
        (
            {"series": {"count": 1}},
            [("series.count", "Invalid"), ("series.lastObservedTime", "Required")],
        ),
        ({"regarding": {"name": "a"}}, [("involvedObject.namespace", "Invalid")]),
        (
            {"reportingController": None},
            [("reportingController", "Invalid")] * 2 + [("reportingController", "Required")],
        ),
    ],
)
def test_a_new_event_says_who_reports_what(
    fields: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert causes(NEW.validate(event(**fields))) == expected


def test_only_the_series_of_an_event_changes() -> None:
    series = {"count": 2, "lastObservedTime": TIME}
    assert causes(NEW.validate_update(event(series=series), event())) == []
    changed = event(reason="S", regarding={"namespace": "n", "name": "b"})
    assert causes(NEW.validate_update(changed, event())) == [
        ("involvedObject", "Invalid"),
        ("reason", "Invalid"),
        ("reason", "Invalid"),
    ]


@pytest.mark.parametrize(
    ("namespace", "involved", "valid"),
    [("n", "n", True), ("n", "m", False), ("n", "", False), ("default", "", True)],
)
def test_an_old_event_is_in_the_namespace_of_its_object(
    namespace: str, involved: str, valid: bool
) -> None:
    obj = {"metadata": {"namespace": namespace}, "involvedObject": {"namespace": involved}}
    assert bool(CORE.validate(obj)) is not valid


@pytest.mark.parametrize("series", [{"lastObservedTime": TIME}, {"count": 1}])
def test_an_event_of_the_other_group_may_keep_its_series(api: Api, series: dict[str, Any]) -> None:
    core, new = (f"{group}/namespaces/default/events" for group in ("/api/v1", EVENTS))
    body = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}, "series": series}
    created = api.create(core, body)
    read = api.get(f"{new}/e")
    assert read["series"]["count"] == series.get("count", 0)
    assert api.call("PUT", f"{new}/e", read).status == 200
    assert api.get(f"{core}/e")["series"] == created["series"]
