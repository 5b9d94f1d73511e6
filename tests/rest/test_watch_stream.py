"""The stream of a watch, over real connections."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.meta import Codec, DecodeError, Status, Undecodable, Unstructured, WatchEvent
from clientgo.rest import (
    ConnectionLostError,
    HTTPWatchStream,
    RestClient,
    RestConfig,
    TransportTimeoutError,
)
from clientgo.rest.requests.watch_stream import LineCutter
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import (
    Answer,
    ScriptedServer,
    answer,
    chunk,
    hang_up,
    reset,
    send,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from clientgo.util.clock import REAL_CLOCK

CODEC = Codec(Unstructured)
PATH = "/api/v1/foos"


def event(name: str, type_: str = "ADDED", **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": "1"}
    return {
        "type": type_,
        "object": {"kind": "Foo", "apiVersion": "v1", "metadata": metadata, **body},
    }


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def open_watch(server: ScriptedServer, *answers: Answer, stop=None, **config: Any) -> Any:
    server.on(PATH, *answers)
    client = RestClient(RestConfig(server=server.url, **config), api_path="/api/v1")
    return client.get().resource("foos").query("watch", "true").max_retries(0).watch(CODEC, stop)


def names(events: list[WatchEvent[Any]]) -> list[str]:
    return [event.object.metadata.name for event in events]


def read_all(stream: Any) -> list[str]:
    """The names of all events up to the end of the stream."""
    found: list[str] = []
    while events := stream.read():
        found += names(events)
    return found


class PiecewiseAnswer:
    """Stands for an answer whose body arrives in given pieces."""

    method, url = "GET", "http://scripted/"

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self.timeouts: list[float | None] = []

    def read_pieces(self, timeout: float | None) -> list[bytes]:
        self.timeouts.append(timeout)
        return [self._pieces.pop(0)] if self._pieces else []

    def close(self) -> None: ...

    def abort(self) -> None: ...


@settings(max_examples=200)
@given(cuts=st.lists(st.integers(min_value=0, max_value=600), max_size=20))
def test_any_split_of_the_stream_gives_the_same_events(cuts):
    """FIELD-21: half lines are buffered, blank lines skipped, wherever reads are cut."""
    lines = [b'{"type":"ADDED","object":{"metadata":{"name":"n%d"}}}' % n for n in range(6)]
    wire = b"\n".join([*lines[:3], b"", b"\r", *lines[3:], b""])
    places = sorted({0, len(wire), *(min(cut, len(wire)) for cut in cuts)})
    pieces = [wire[a:b] for a, b in itertools.pairwise(places)]
    stream = HTTPWatchStream(
        PiecewiseAnswer(pieces),  # type: ignore[arg-type]
        CODEC,
        idle_timeout=None,
        deadline=None,
        clock=REAL_CLOCK,
    )

    assert read_all(stream) == ["n0", "n1", "n2", "n3", "n4", "n5"]


def test_what_arrives_together_is_one_batch(server):
    wire = b"".join(
        chunk(b'{"type":"ADDED","object":{"metadata":{"name":"%d"}}}\n' % n) for n in range(50)
    )
    stream = open_watch(server, [*watch_begin(), *send(wire), *stay_silent()])

    assert len(stream.read()) == 50
    stream.stop()


def test_a_watch_does_not_ask_for_compression(server):
    """Whoever compresses collects bytes first, and events would arrive late."""
    open_watch(server, watch_begin() + watch_end())

    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_one_event_alone_flows_at_once(server):
    gate = server.gate()
    script = watch_begin() + watch_events(event("a")) + gate.hold() + watch_events(event("b"))
    stream = open_watch(server, script + watch_end())

    assert names(stream.read()) == ["a"]
    gate.open()
    assert read_all(stream) == ["b"]


def test_each_type_of_event_comes_out_with_its_object(server):
    """LWT-02: the five types, a Status for ERROR, in order."""
    status = {"kind": "Status", "code": 410, "reason": "Expired"}
    stream = open_watch(
        server,
        watch_begin()
        + watch_events(
            event("a"),
            event("a", "MODIFIED"),
            event("a", "DELETED"),
            event("", "BOOKMARK"),
            {"type": "ERROR", "object": status},
        )
        + watch_end(),
    )
    events = []
    while batch := stream.read():
        events += batch

    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    assert isinstance(events[-1].object, Status)
    assert events[-1].object.code == 410


def test_blank_lines_are_skipped(server):
    """FIELD-21."""
    stream = open_watch(
        server,
        watch_begin()
        + send(chunk(b"\n"), chunk(b"\r\n"))
        + watch_events(event("a"))
        + send(chunk(b"\n"))
        + watch_end(),
    )

    assert read_all(stream) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"message":"no Route matched with those values"}',
        b"<html>Log in</html>",
        b"[]",
        b'{"kind":"FooList","items":[]}',
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_what_is_no_watch_is_no_lost_connection(server, body, end):
    """FIELD-39: a connection that is lost is opened again without a report."""
    stream = open_watch(server, watch_begin() + send(chunk(body + end)) + watch_end())

    with pytest.raises(DecodeError, match="not a watch event"):
        stream.read()


def test_a_refusal_in_place_of_a_watch_is_an_error_event(server):
    body = b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}'
    stream = open_watch(server, watch_begin() + send(chunk(body)) + watch_end())

    (event,) = stream.read()

    assert (event.type, event.object.reason) == ("ERROR", "Expired")


def test_half_a_line_at_the_end_is_a_lost_connection_after_the_events_before_it(server):
    """FIELD-21."""
    stream = open_watch(
        server,
        watch_begin() + watch_events(event("a")) + send(chunk(b'{"type":"ADD')) + watch_end(),
    )

    assert names(stream.read()) == ["a"]
    with pytest.raises(ConnectionLostError, match="ended within an event"):
        stream.read()
    assert stream.read() == ()


def test_a_last_line_without_its_end_is_an_event(server):
    """FIELD-21."""
    line = b'{"type":"ADDED","object":{"metadata":{"name":"last"}}}'
    stream = open_watch(server, watch_begin() + send(chunk(line)) + watch_end())

    assert read_all(stream) == ["last"]


def test_a_garbled_line_ends_the_stream_after_the_events_before_it(server):
    """FIELD-21: going on would leave a gap, so the reflector must hear of it."""
    good = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    stream = open_watch(
        server, [*watch_begin(), *send(chunk(good + b"{garbled}\n" + good)), *stay_silent()]
    )

    assert names(stream.read()) == ["a"]
    with pytest.raises(DecodeError, match="not a watch event"):
        stream.read()
    server.wait_for_open_connections(0)


def test_an_object_that_does_not_decode_is_an_event_and_the_stream_goes_on(server):
    """FIELD-13: one bad object costs only itself."""
    bad = {"type": "ADDED", "object": {"metadata": {"name": "bad", "labels": "none"}}}
    stream = open_watch(server, watch_begin() + watch_events(bad, event("good")) + watch_end())
    events = []
    while batch := stream.read():
        events += batch

    assert isinstance(events[0].object, Undecodable)
    assert events[0].object.metadata.name == "bad"
    assert names(events[1:]) == ["good"]


def test_a_connection_that_is_closed_in_the_middle_is_lost(server):
    stream = open_watch(server, watch_begin() + watch_events(event("a")) + hang_up())

    assert names(stream.read()) == ["a"]
    with pytest.raises(ConnectionLostError, match="/api/v1/foos"):
        stream.read()


def test_a_reset_connection_is_lost(server):
    gate = server.gate()
    stream = open_watch(server, watch_begin() + watch_events(event("a")) + gate.hold() + reset())

    assert names(stream.read()) == ["a"]
    gate.open()
    with pytest.raises(ConnectionLostError) as caught:
        stream.read()
    assert isinstance(caught.value, ConnectionResetError)


def test_garbled_chunks_are_a_lost_connection(server):
    stream = open_watch(server, watch_begin() + send(b"zzz\r\n"))

    with pytest.raises(ConnectionLostError, match="garbled"):
        stream.read()


@pytest.mark.parametrize("framing", ["length", "close", "gzip"])
def test_other_framings_than_chunks_work_too(server, framing):
    import gzip

    body = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    scripts = {
        "length": answer(body=body),
        "close": send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body) + hang_up(),
        "gzip": answer(body=gzip.compress(body), headers=[("Content-Encoding", "gzip")]),
    }
    stream = open_watch(server, scripts[framing])

    assert read_all(stream) == ["a"]


def test_a_body_shorter_than_its_length_is_a_lost_connection(server):
    body = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
    stream = open_watch(server, send(head + body) + hang_up())

    assert names(stream.read()) == ["a"]
    with pytest.raises(ConnectionLostError):
        stream.read()


def test_silence_beyond_the_idle_timeout_is_detected(server):
    """FIELD-06: a half-open connection does not freeze the cache for ever."""
    # Head and event arrive together, so nothing has to be in time.
    body = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
    stream = open_watch(server, send(head + body) + stay_silent(), watch_idle_timeout=0.05)

    assert names(stream.read()) == ["a"]
    with pytest.raises(TransportTimeoutError) as caught:
        stream.read()
    assert isinstance(caught.value, TimeoutError)
    server.wait_for_open_connections(0)


def test_a_watch_that_the_server_does_not_end_in_time_is_ended_here(server):
    """FIELD-06: the read deadline lies a grace period beyond the watch's own timeout."""
    server.on(PATH, watch_begin() + stay_silent())
    client = RestClient(RestConfig(server=server.url, watch_grace=0.9), api_path="/api/v1")
    stream = client.get().resource("foos").timeout(0.1).watch(CODEC)

    with pytest.raises(TransportTimeoutError):
        stream.read()


def test_a_watch_that_is_kept_busy_ends_at_its_deadline_too(server):
    clock = FakeClock()
    server.on(PATH, watch_begin() + watch_events(event("a")) + watch_events(event("b")))
    client = RestClient(RestConfig(server=server.url, clock=clock), api_path="/api/v1")
    stream = client.get().resource("foos").timeout(60).watch(CODEC)
    stream.read()

    clock.step(60 + RestConfig(server=server.url).watch_grace)

    with pytest.raises(TransportTimeoutError, match="did not end the watch"):
        stream.read()


def test_the_time_that_is_left_is_counted_in_whole_seconds():
    """A socket sets its timeout, by a system call, only if it changes."""
    clock = FakeClock()

    class SlowAnswer(PiecewiseAnswer):
        def read_pieces(self, timeout: float | None) -> list[bytes]:
            clock.step(0.3)
            return super().read_pieces(timeout)

    answer = SlowAnswer([b"\n"] * 4)
    stream = HTTPWatchStream(
        answer,  # type: ignore[arg-type]
        CODEC,
        idle_timeout=59.0,
        deadline=clock.monotonic() + 59.5,
        clock=clock,
    )

    stream.read()

    assert answer.timeouts == [59.0, 59.0, 59.0, 59.0, 59.0]


def test_the_time_of_the_last_byte_is_known(server):
    stream = open_watch(server, watch_begin() + watch_events(event("a")) + stay_silent())
    opened = stream.last_byte_time

    stream.read()

    assert opened < stream.last_byte_time <= time.monotonic()
    stream.stop()


def test_stop_from_another_thread_wakes_a_blocked_read(server):
    """FIELD-29, LWT-02: stop returns promptly although the server is silent."""
    stream = open_watch(server, watch_begin() + watch_events(event("a")) + stay_silent())
    assert names(stream.read()) == ["a"]
    results: list[Any] = []
    reader = threading.Thread(target=lambda: results.append(stream.read()))
    reader.start()

    stream.stop()
    stream.stop()
    reader.join(60)

    assert not reader.is_alive()
    assert results == [()]
    server.wait_for_open_connections(0)


def test_setting_the_stop_event_ends_the_stream(server):
    """FIELD-05: the event that was passed to the request ends the stream as well."""
    stop = threading.Event()
    stream = open_watch(server, watch_begin() + stay_silent(), stop=stop)
    results: list[Any] = []
    reader = threading.Thread(target=lambda: results.append(stream.read()))
    reader.start()

    stop.set()
    reader.join(30)

    assert results == [()]
    server.wait_for_open_connections(0)


def test_stop_without_ever_reading_closes_the_connection(server):
    """LWT-02."""
    stream = open_watch(server, watch_begin() + watch_events(event("a")) + stay_silent())

    stream.stop()

    server.wait_for_open_connections(0)
    assert stream.read() == ()


def test_a_thousand_watches_leave_no_socket_behind(server):
    """FIELD-31: every way out closes the stream."""
    ways_out = [
        watch_begin() + watch_events(event("a")) + hang_up(),
        watch_begin() + watch_events(event("a")) + watch_end(),
        watch_begin() + send(chunk(b"{garbled}\n")) + stay_silent(),
        watch_begin() + watch_events(event("a")) + stay_silent(),
        answer(410, b"{}"),
    ]
    server.on(PATH, *(ways_out[n % len(ways_out)] for n in range(1000)), hang_up())
    client = RestClient(RestConfig(server=server.url), api_path="/api/v1")
    stop = threading.Event()
    streams = []  # kept, so that nothing is closed by being forgotten

    for turn in range(1000):
        try:
            stream = client.get().resource("foos").watch(CODEC, stop)
            streams.append(stream)
            stream.read()
            if turn % len(ways_out) == 3:
                stream.stop()
            else:
                stream.read()
        except Exception:
            continue

    client.close()
    server.wait_for_open_connections(0)
    assert len(streams) == 800


def test_a_watch_that_ended_well_gives_its_connection_back(server):
    script = watch_begin() + watch_events(event("a")) + watch_end()
    server.on(PATH, script)
    client = RestClient(RestConfig(server=server.url), api_path="/api/v1")

    for _ in range(3):
        assert read_all(client.get().resource("foos").watch(CODEC)) == ["a"]

    assert server.connections == 1


def test_a_line_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr("clientgo.rest.requests.watch_stream._LONGEST_EVENT", 15)
    cutter = LineCutter()
    cutter.feed([b"0123456789"])

    with pytest.raises(DecodeError, match="without the end of a line"):
        cutter.feed([b"0123456789"])
