"""Servers that refuse, close and expire: nothing is repeated in a rush, nothing is given up."""

from __future__ import annotations

from clientgo.testing.scripted_server import (
    answer_json,
    answer_status,
)
from tests.field.collection import forgetful_watch, open_watch, short_watch
from tests.field.objects import added, expired, key, keys, listing, pod
from tests.field.scenario import Field, scenario

WINDOW = 0.5
"""Seconds during which requests are counted."""

AT_MOST = 8
"""Requests in that time; more is a rush, whatever each of them is for."""

_REASONS = {403: "Forbidden", 429: "TooManyRequests", 500: "InternalError"}


def _is_unhurried(field: Field) -> str:
    field.watched(hurried=False)
    field.until(lambda: field.pods.watches, "it never watched")
    count = field.requests_within(WINDOW)
    said = f"{count} requests in {WINDOW:g} s"
    field.check(count <= AT_MOST, said)
    return said


@scenario("FIELD-02", [403, 429, 500])
def refused_watches_are_not_repeated_in_a_rush(field: Field, status: int) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(answer_status(status, _REASONS[status]))
    return _is_unhurried(field)


@scenario("FIELD-02")
def a_server_that_says_when_to_come_back_is_obeyed(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    refusal = answer_status(429, "TooManyRequests", headers=[("Retry-After", "1")])
    field.pods.on_watch(refusal, open_watch())
    field.watched()
    field.until(lambda: len(field.pods.watches) >= 2, "it never watched again")
    first, second = field.pods.watches[:2]
    waited = second.at - first.at
    field.check(waited >= 1.0, f"asked to wait 1 s, it waited {waited * 1000:.0f} ms")
    return f"waited {waited:.1f} s"


@scenario("FIELD-03")
def watches_that_end_at_once_are_not_reopened_in_a_rush(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(short_watch())
    return _is_unhurried(field)


@scenario("FIELD-04")
def a_version_that_keeps_expiring_is_not_listed_in_a_rush(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(short_watch(expired()))
    return _is_unhurried(field)


@scenario("FIELD-04")
def an_object_that_a_list_shows_unchanged_is_told_as_that(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(short_watch(expired()))
    _, recorder = field.watched()
    field.until(lambda: recorder.count >= 3, "it was not told again")
    updates = recorder.calls[1:]
    blind = [call for call in updates if not call.tells_that_nothing_changed]
    field.check(not blind, f"{len(blind)} updates that do not tell that nothing changed")
    return f"{len(updates)} updates with both states"


@scenario("FIELD-27", ["as an event", "as an answer"])
def what_vanished_while_history_was_lost_is_deleted(field: Field, how: str) -> str:
    field.pods.on_list(
        answer_json(listing(pod("a"), pod("b"))), answer_json(listing(pod("b"), version=20))
    )

    refusal = short_watch(expired()) if how == "as an event" else answer_status(410, "Expired")
    field.pods.on_watch(forgetful_watch(20, refusal))
    subject, recorder = field.watched()
    field.until(
        lambda: recorder.told(key("a")) == ["add", "delete"],
        lambda: f"told {recorder.told(key('a'))}, cache {sorted(subject.keys())}",
    )
    field.until(lambda: subject.keys() == keys("b"), "the object is still cached")
    field.until(
        lambda: field.pods.watches[-1].request.query["resourceVersion"] == "20",
        "it did not watch on from the new list",
    )
    field.check(field.pods.requests <= AT_MOST, f"{field.pods.requests} requests")
    return f"{field.pods.requests} requests"


@scenario("FIELD-28")
def a_first_list_that_fails_is_repeated(field: Field) -> None:
    field.pods.on_list(answer_status(500, "InternalError"), answer_json(listing(pod("a"))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("a")) == ["add"], "the cache stayed empty")
    field.check(subject.keys() == keys("a"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-32")
def it_is_there_again_after_a_long_outage(field: Field) -> None:
    refusal = answer_status(503, "ServiceUnavailable")
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(*[refusal] * 30, open_watch(added(pod("b", 40))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("b")) == ["add"], "it gave up watching")
    field.check(subject.keys() == keys("a", "b"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-32")
def a_probe_can_tell_that_the_cache_is_not_kept_up_to_date(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(answer_status(403, "Forbidden", "pods is forbidden"))
    subject, _ = field.watched()
    field.until(lambda: len(field.pods.watches) >= 3, "it gave up watching")
    is_watching, last_error = subject.health()
    field.check(not is_watching, "it says that it is watching")
    field.check("forbidden" in str(last_error), f"the last error is said to be {last_error}")
