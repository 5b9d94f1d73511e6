"""The cache is what the server has, and handlers are told what happened to it."""

from __future__ import annotations

from typing import Any

from clientgo.testing.scripted_server import answer_json, watch_begin, watch_end, watch_events
from tests.field.collection import forgetful_watch, open_watch, short_watch
from tests.field.objects import (
    added,
    bookmark,
    deleted,
    expired,
    key,
    keys,
    listing,
    modified,
    paged_list,
    pod,
)
from tests.field.scenario import Field, scenario

_MANY = 1_200
_TOO_MANY_FOR_SOME = 10_500


@scenario("FIELD-12")
def an_event_that_could_not_be_stored_is_not_lost(field: Field) -> None:
    failures = iter([ValueError("once")])

    def key_func(obj: Any) -> str:
        name = obj.metadata.name
        if name == "b":
            for failure in failures:
                raise failure
        return key(name)

    gate = field.server.gate()
    field.pods.on_list(
        answer_json(listing(pod("a"))), answer_json(listing(pod("a"), pod("b", 11), version=11))
    )
    first = short_watch(added(pod("b", 11)))
    field.pods.on_watch([*gate.hold(), *first], open_watch())
    subject, recorder = field.watched(key_func=key_func)
    field.until(lambda: recorder.told(key("a")), "the list was not told")
    gate.open()
    field.until(lambda: recorder.told(key("b")), "the object never came into the cache")
    field.check(subject.keys() == keys("a", "b"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-18")
def a_source_of_plain_functions_resumes_where_it_was(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(short_watch(added(pod("b", 11))), open_watch(added(pod("c", 12))))
    _, recorder = field.watched(wrapped_source=True)
    field.until(lambda: recorder.told(key("c")), "it did not watch again")
    version = field.pods.watches[1].request.query.get("resourceVersion")
    field.check(version == "11", f"it watched on from version {version}, not from 11")


@scenario("FIELD-19")
def what_is_told_follows_from_the_cache(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a", 5))))
    field.pods.on_watch(
        open_watch(
            added(pod("a", 5)), modified(pod("b", 11)), deleted(pod("a", 12)), added(pod("c", 13))
        )
    )
    _, recorder = field.watched()
    field.until(lambda: recorder.told(key("c")), "the events were not told")
    replayed, new = recorder.told(key("a")), recorder.told(key("b"))
    field.check(replayed.count("add") == 1, f"an object that was replayed: {replayed}")
    field.check(new == ["add"], f"an object that was new: {new}")


@scenario("FIELD-19")
def a_list_without_a_version_replays_nothing(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a", 5), version=None)))
    field.pods.on_watch(open_watch(added(pod("a", 5)), added(pod("b", 6))))
    _, recorder = field.watched()
    field.until(lambda: recorder.told(key("b")), "the events were not told")
    told = recorder.told(key("a"))
    field.check(told.count("add") == 1, f"an object that was replayed: {told}")


@scenario("FIELD-20", ["a list", "a watch"])
def a_deletion_is_told_when_it_is_stored(field: Field, seen_in: str) -> None:
    field.pods.on_list(
        answer_json(listing(pod("a"), pod("b"))), answer_json(listing(pod("b"), version=20))
    )
    says = expired() if seen_in == "a list" else deleted(pod("a", 11))
    gate = field.server.gate()
    field.pods.on_watch(
        [*watch_begin(), *gate.hold(), *watch_events(says), *watch_end()],
        forgetful_watch(20, short_watch(expired())) if seen_in == "a list" else open_watch(),
    )
    _, recorder = field.watched()
    field.until(lambda: recorder.count == 2, "the list was not told")
    gate.open()
    field.until(lambda: recorder.told(key("a")) == ["add", "delete"], "it was not told")
    deletion = next(call for call in recorder.calls if call.kind == "delete")
    field.check(not deletion.cached, "the cache still had the object when its deletion was told")
    if seen_in == "a list":
        field.check(deletion.may_be_stale, "not told that the last known state may be stale")


@scenario("FIELD-22")
def bookmarks_are_asked_for_and_used(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(
        short_watch(added(pod("b", 11)), bookmark(50)), open_watch(added(pod("c", 51)))
    )
    field.watched()
    field.until(lambda: len(field.pods.watches) >= 2, "it did not watch again")
    first, second = (seen.request.query for seen in field.pods.watches[:2])
    field.check(first.get("allowWatchBookmarks") == "true", f"asked only for {dict(first)}")
    field.check(second["resourceVersion"] == "50", "it did not go on from the bookmark")
    asked = field.pods.lists[0].request.query
    field.check(asked.get("resourceVersion") == "0", "the list bypassed the server's cache")


@scenario("FIELD-26")
def a_list_in_pages_is_read_to_its_end(field: Field) -> str:
    pods = [pod(f"pod-{number}") for number in range(_MANY)]
    field.pods.on_list(paged_list(pods))
    subject, recorder = field.watched()
    field.until(
        lambda: recorder.count == _MANY,
        lambda: f"{len(subject.keys())} of {_MANY} objects cached",
    )
    field.check(len(subject.keys()) == _MANY, f"{len(subject.keys())} of {_MANY} objects cached")
    return f"{_MANY} objects in {len(field.pods.lists)} requests"


@scenario("FIELD-30")
def nothing_is_evicted_however_many_there_are(field: Field) -> str:
    pods = [pod(f"pod-{number}") for number in range(_TOO_MANY_FOR_SOME)]
    field.pods.on_list(paged_list(pods))
    subject, recorder = field.watched()
    field.until(
        lambda: recorder.count == _TOO_MANY_FOR_SOME,
        lambda: f"{len(subject.keys())} of {_TOO_MANY_FOR_SOME} objects cached",
        within=30.0,
    )
    count = len(subject.keys())
    field.check(count == _TOO_MANY_FOR_SOME, f"{count} of {_TOO_MANY_FOR_SOME} objects cached")
    return f"{count} objects"


@scenario("FIELD-37")
def an_object_that_was_replaced_unseen_is_told_as_two(field: Field) -> None:
    field.pods.on_list(
        answer_json(listing(pod("a", 5, uid="first"))),
        answer_json(listing(pod("a", 15, uid="second"), version=20)),
    )
    field.pods.on_watch(forgetful_watch(20, short_watch(expired())))
    _, recorder = field.watched(split_recreated=True)
    field.until(lambda: len(recorder.told(key("a"))) > 1, "it was not told")
    field.until(
        lambda: recorder.told(key("a")) == ["add", "delete", "add"],
        lambda: f"told as {recorder.told(key('a'))}",
        within=30.0,
    )
    uids = [call.uid for call in recorder.calls]
    field.check(uids == ["first", "first", "second"], f"told of {uids}")
