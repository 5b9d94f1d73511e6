"""Connections that fall silent, break, and cut what they carry into pieces."""

from __future__ import annotations

import itertools

import msgspec

from clientgo.testing.scripted_server import (
    RecordedRequest,
    Script,
    answer_json,
    answer_status,
    chunk,
    hang_up,
    reset,
    send,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from tests.field.collection import open_watch
from tests.field.objects import added, key, keys, listing, pod
from tests.field.scenario import Field, scenario
from tests.field.sockets import client_sockets, keep_alive_is_on

_HALF_A_LINE = chunk(b'{"type":"MODIFIED","object":{"kind":"Po')


@scenario("FIELD-06")
def the_server_is_told_when_to_end_a_watch(field: Field) -> str:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.watched()
    field.until(lambda: field.pods.watches, "it never watched")
    seconds = field.pods.watches[0].request.query.get("timeoutSeconds")
    field.check(seconds is not None, "no timeoutSeconds")
    return f"timeoutSeconds={seconds}"


@scenario("FIELD-06")
def a_watch_whose_server_is_gone_is_probed(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.watched()
    field.until(lambda: field.pods.watches, "it never watched")
    field.check(keep_alive_is_on(field.server.port), "TCP keep-alive is off")


@scenario("FIELD-06")
def a_watch_that_falls_silent_is_opened_again(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(open_watch(added(pod("b", 11))), open_watch(added(pod("c", 12))))
    subject, recorder = field.watched(idle_timeout=0.2)
    field.until(lambda: recorder.told(key("c")), "the cache is frozen")
    field.check(subject.keys() == keys("a", "b", "c"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-21")
def blank_lines_do_not_end_a_watch(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))
    blank = send(chunk(b"\n"), chunk(b"\r\n"), chunk(b" \n\n"))
    field.pods.on_watch(
        [*watch_begin(), *blank, *watch_events(added(pod("b", 11))), *stay_silent()]
    )
    _, recorder = field.watched()
    field.until(
        lambda: recorder.told(key("b")), lambda: f"{len(field.pods.watches)} watches, no event"
    )
    watches = len(field.pods.watches)
    field.check(watches == 1, f"{watches} watches, where one was enough")


@scenario("FIELD-21")
def a_line_may_arrive_in_pieces(field: Field) -> None:
    whole = msgspec.json.encode(added(pod("b", 11))) + b"\n"
    split = msgspec.json.encode(added(pod("c", 12, labels={"city": "Zürich"}))) + b"\n"
    in_a_letter = split.index("ü".encode()) + 1
    gate = field.server.gate()
    # What is told of the whole line shows that the beginning of the next has arrived too.
    begin, rest = send(chunk(whole + split[:in_a_letter])), send(chunk(split[in_a_letter:]))
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch([*watch_begin(), *begin, *gate.hold(), *rest, *stay_silent()])
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("b")), "the whole line was not told")
    gate.open()
    field.until(lambda: recorder.told(key("c")), "the line in pieces was not told")
    field.check(subject.keys() == keys("a", "b", "c"), f"cache: {sorted(subject.keys())}")
    watches = len(field.pods.watches)
    field.check(watches == 1, f"{watches} watches, where one was enough")


@scenario("FIELD-21", ["the end", "a hang-up", "a reset"])
def half_a_line_before_the_end_loses_nothing(field: Field, end: str) -> None:
    ends = {"the end": watch_end(), "a hang-up": hang_up(), "a reset": reset()}
    broken = [*watch_begin(), *watch_events(added(pod("b", 11))), *send(_HALF_A_LINE), *ends[end]]
    field.pods.on_list(answer_json(listing(pod("a"))))
    field.pods.on_watch(broken, open_watch(added(pod("c", 12))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("c")) == ["add"], "it did not watch on")
    field.check(subject.keys() == keys("a", "b", "c"), f"cache: {sorted(subject.keys())}")
    version = field.pods.watches[1].request.query["resourceVersion"]
    field.check(version == "11", f"it watched on from version {version}, not from 11")


@scenario("FIELD-31")
def a_thousand_broken_watches_leave_nothing_open(field: Field) -> str:
    versions = itertools.count(11)
    ends = itertools.cycle(
        [
            watch_end(),
            [*send(_HALF_A_LINE), *hang_up()],
            reset(),
            # Not an event at all; the server keeps the connection open.
            [*send(chunk(b"<html>\n")), *stay_silent()],
            None,
        ]
    )

    def watch(_: RecordedRequest) -> Script:
        end = next(ends)
        if end is None:
            return answer_status(500, "InternalError")
        return [*watch_begin(), *watch_events(added(pod("a", next(versions)))), *end]

    field.pods.on_list(lambda _: answer_json(listing(pod("a"), version=next(versions))))
    field.pods.on_watch(watch)
    field.watched()
    field.until(lambda: len(field.pods.watches) >= 10, "it gave up at once")
    threads_before = len(field.threads())
    field.until(
        lambda: len(field.pods.watches) >= 1000,
        lambda: f"only {len(field.pods.watches)} watches",
        within=60.0,
    )
    sockets, threads = client_sockets(field.server.port), len(field.threads())
    said = f"{sockets} sockets, {threads - threads_before} threads more"
    field.check(sockets <= 2 and threads <= threads_before, said)
    return said
