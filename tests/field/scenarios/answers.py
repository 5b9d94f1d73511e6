"""Answers with HTTP 200 that are none: a refusal, the message of a gateway, another object."""

from __future__ import annotations

from typing import Any, Final

from clientgo.testing.scripted_server import answer_json
from tests.field.collection import open_watch, short_watch
from tests.field.objects import added, deleted, expired, key, keys, listing, modified, pod
from tests.field.scenario import Field, Recorder, scenario
from tests.field.scenarios.failures import AT_MOST, WINDOW

_STATUS: Final = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "reason": "ServiceUnavailable",
    "message": "the backend is away",
    "code": 503,
}
_MESSAGE: Final = {"message": "no Route matched with those values"}
_BODIES: Final[dict[str, Any]] = {
    "a refusal": _STATUS,
    "a gateway's message": _MESSAGE,
    "an empty object": {},
    "an object": pod("a"),
    "an item that is null": listing() | {"items": [None]},
}
_EVENTS: Final[dict[str, Any]] = {
    "a refusal": _STATUS,
    "a refusal as an object": deleted(_STATUS),
    "a gateway's message": _MESSAGE,
    "an object of another kind": deleted(pod("a") | {"kind": "Service"}),
    "an object without a name": modified({"kind": "Pod", "apiVersion": "v1", "metadata": {}}),
    "no object": modified(None),
}


@scenario("FIELD-38", list(_BODIES))
def a_list_that_is_none_deletes_nothing(field: Field, what: str) -> None:
    no_list = answer_json(_BODIES[what])
    field.pods.on_list(
        answer_json(listing(pod("a"), pod("b"))),
        no_list,
        no_list,
        answer_json(listing(pod("a"), pod("b"), pod("c"), version=20)),
    )
    field.pods.on_watch(short_watch(expired()), open_watch())
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("c")) == ["add"], lambda: _told(recorder))
    _check_nothing_was_deleted(field, recorder)
    field.check(subject.keys() == keys("a", "b", "c"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-39", list(_EVENTS))
def an_event_that_is_none_changes_nothing(field: Field, what: str) -> None:
    field.pods.on_list(
        answer_json(listing(pod("a"))), answer_json(listing(pod("a"), pod("c", 20), version=20))
    )
    field.pods.on_watch(short_watch(added(pod("b", 11)), _EVENTS[what]), open_watch())
    _, recorder = field.watched()
    field.until(lambda: recorder.told(key("c")) == ["add"], lambda: _told(recorder))
    _check_nothing_was_deleted(field, recorder, but="b")
    odd = {call.key for call in recorder.calls} - keys("a", "b", "c")
    field.check(not odd, f"told of {sorted(odd)}")


@scenario("FIELD-40")
def a_continue_token_that_comes_again_is_not_followed_for_ever(field: Field) -> str:
    page = listing(pod("a"))
    page["metadata"] |= {"continue": "again"}
    field.pods.on_list(answer_json(page))
    field.watched(hurried=False)
    field.until(lambda: field.pods.requests >= 2, "it did not ask for the next page")
    count = field.requests_within(WINDOW)
    said = f"{count} requests in {WINDOW:g} s"
    field.check(count <= AT_MOST, said)
    return said


def _told(recorder: Recorder) -> str:
    return f"told {[(call.kind, call.key) for call in recorder.calls]}"


def _check_nothing_was_deleted(field: Field, recorder: Recorder, but: str = "") -> None:
    deletions = [call.key for call in recorder.calls if call.kind == "delete"]
    field.check(not set(deletions) - keys(but), f"told that {sorted(deletions)} were deleted")
