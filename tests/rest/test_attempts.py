"""Attempts: which are retried, after how long, and what is left when they run out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.meta import (
    Codec,
    ServiceUnavailableError,
    StatusError,
    TooManyRequestsError,
    Unstructured,
)
from clientgo.rest import (
    ConnectionLostError,
    EndedWatch,
    RequestStoppedError,
    RestClient,
    RestConfig,
    ServerRefusedError,
    ThrottledError,
    TransportTimeoutError,
)
from clientgo.testing import AutoClock, FakeClock
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    hang_up,
    reset,
    send,
    stay_silent,
    watch_begin,
    watch_end,
)
from clientgo.util.clock import REAL_CLOCK
from clientgo.util.flowcontrol import NeverRateLimiter, TokenBucketRateLimiter
from tests.background import Background

CODEC = Codec(Unstructured)
RETRY_AFTER = [("Retry-After", "3")]


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(name="clock")
def _clock() -> AutoClock:
    return AutoClock()


def client_of(server: ScriptedServer, clock: Any, limiter: Any = None, **config: Any) -> RestClient:
    return RestClient(
        RestConfig(server=server.url, clock=clock, **config), api_path="/api/v1", limiter=limiter
    )


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("code", [429, 500, 503])
def test_an_answer_with_retry_after_is_tried_again_whatever_the_method(server, clock, method, code):
    """REST-06."""
    server.on("*", answer_status(code, "", headers=RETRY_AFTER), answer_json({}))

    client_of(server, clock).request(method).resource("foos").body(b"{}").do()

    assert [request.body for request in server.requests] == [b"{}", b"{}"]
    assert clock.monotonic() == 3.0


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT")],
        [("Retry-After", "1.5")],
        [("Retry-After", "-1")],
    ],
)
def test_without_whole_seconds_there_is_no_retry(server, clock, headers):
    """REST-06: no header, or an HTTP date."""
    server.on("*", answer_status(503, "ServiceUnavailable", headers=headers))

    with pytest.raises(ServiceUnavailableError):
        client_of(server, clock).get().resource("foos").do()
    assert len(server.requests) == 1


def test_an_answer_below_500_is_not_retried_even_with_retry_after(server, clock):
    """REST-06."""
    server.on("*", answer_status(409, "Conflict", headers=RETRY_AFTER))

    with pytest.raises(StatusError):
        client_of(server, clock).get().resource("foos").do()
    assert len(server.requests) == 1


@pytest.mark.parametrize(("retries", "requests"), [(None, 11), (0, 1), (-3, 1), (2, 3)])
def test_after_the_last_retry_the_last_answer_is_the_error(server, clock, retries, requests):
    """REST-07: ten retries, so at most eleven requests; a negative number means none."""
    server.on("*", answer_status(429, "TooManyRequests", headers=[("Retry-After", "1")]))
    request = client_of(server, clock).get().resource("foos")
    if retries is not None:
        request.max_retries(retries)

    with pytest.raises(TooManyRequestsError):
        request.do()
    assert len(server.requests) == requests
    assert clock.monotonic() == requests - 1


@pytest.mark.parametrize("failure", [reset(), hang_up()], ids=["reset", "eof"])
def test_a_get_whose_connection_was_lost_is_tried_again_after_a_second(server, clock, failure):
    """REST-08."""
    server.on("*", failure, answer_json({}))

    client_of(server, clock).get().resource("foos").do()

    assert len(server.requests) == 2
    assert clock.monotonic() == 1.0


@pytest.mark.parametrize("failure", [reset(), hang_up()], ids=["reset", "eof"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_whose_connection_was_lost_is_not(server, clock, failure, method):
    """REST-08."""
    server.on("*", failure)

    with pytest.raises(ConnectionLostError):
        client_of(server, clock).request(method).resource("foos").do()
    assert len(server.requests) == 1


def test_a_silent_server_is_not_asked_again_by_a_get(server, clock):
    """REST-08."""
    server.on("*", stay_silent())

    with pytest.raises(TransportTimeoutError):
        client_of(server, clock, read_timeout=0.02).get().resource("foos").do()
    assert len(server.wait_for_requests(1, timeout=30)) == 1


def test_a_stream_is_not_retried_when_its_connection_was_lost_but_after_retry_after(server, clock):
    """REST-08, REST-06."""
    server.on("*", answer_status(503, "", headers=RETRY_AFTER), hang_up())

    with pytest.raises(ConnectionLostError):
        client_of(server, clock).get().resource("foos").stream()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("failure", "read_timeout"),
    [(reset(), 5.0), (hang_up(), 5.0), (stay_silent(), 0.1)],
    ids=["reset", "eof", "silence"],
)
def test_a_watch_is_retried_when_its_server_was_lost_or_silent(
    server, clock, failure, read_timeout
):
    """REST-08."""
    server.on("*", failure, watch_begin() + watch_end())

    client_of(server, clock, read_timeout=read_timeout).get().resource("foos").watch(CODEC).read()

    assert len(server.wait_for_requests(2)) == 2
    assert clock.monotonic() == 1.0


@pytest.mark.parametrize(
    ("failure", "read_timeout"), [(hang_up(), 5.0), (stay_silent(), 0.1)], ids=["eof", "silence"]
)
def test_a_watch_that_keeps_losing_its_server_is_an_ended_watch(
    server, clock, failure, read_timeout
):
    """REST-09."""
    server.on("*", failure)

    client = client_of(server, clock, read_timeout=read_timeout)
    stream = client.get().resource("foos").max_retries(2).watch(CODEC)

    assert isinstance(stream, EndedWatch)
    assert stream.read() == ()
    stream.stop()
    assert len(server.wait_for_requests(3)) == 3


@pytest.mark.parametrize("kind", ["do", "stream", "watch"])
def test_a_refused_connection_is_never_retried(clock, kind, closed_port):
    """REST-08."""
    url = f"http://127.0.0.1:{closed_port}"
    request = RestClient(RestConfig(server=url, clock=clock)).get().absolute_path("/x")

    with pytest.raises(ServerRefusedError):
        request.watch(CODEC) if kind == "watch" else getattr(request, kind)()
    assert clock.monotonic() == 0.0


def test_a_body_that_can_be_read_only_once_is_never_sent_again(server, clock):
    """REST-10."""
    server.on("*", answer_status(503, "ServiceUnavailable", headers=RETRY_AFTER))

    with pytest.raises(ServiceUnavailableError):
        client_of(server, clock).post().resource("foos").body(iter([b"{}"])).do()
    assert len(server.requests) == 1


def test_a_stop_ends_the_pause_before_a_retry(server):
    """REST-11."""
    clock, stop = FakeClock(), threading.Event()
    server.on("*", answer_status(503, "", headers=RETRY_AFTER))
    call = Background(lambda: client_of(server, clock).get().resource("foos").do(stop))
    clock.wait_for_waiters(1)
    stop.set()

    with pytest.raises(RequestStoppedError):
        call.result()
    assert len(server.requests) == 1


def test_the_final_error_mentions_a_different_one_before_it(server, clock):
    """REST-12: and stays of its kind."""
    server.on(
        "*",
        answer_status(503, "", headers=RETRY_AFTER),
        answer_status(500, "InternalError", "boom"),
    )

    with pytest.raises(
        StatusError, match=r"boom.*the attempt before ended otherwise: HTTP 503"
    ) as caught:
        client_of(server, clock).get().resource("foos").do()
    assert caught.value.code == 500


def test_the_final_transport_error_mentions_a_different_one_before_it(server, clock):
    """REST-12."""
    server.on("*", answer_status(503, "", headers=RETRY_AFTER), hang_up())

    with pytest.raises(ConnectionLostError, match="HTTP 503"):
        client_of(server, clock).get().resource("foos").max_retries(1).do()


def test_the_same_error_again_is_not_mentioned(server, clock):
    """REST-12."""
    server.on("*", answer_status(503, "", headers=RETRY_AFTER))

    with pytest.raises(StatusError) as caught:
        client_of(server, clock).get().resource("foos").max_retries(1).do()
    assert "before" not in str(caught.value)


@pytest.mark.parametrize(("size", "connections"), [(100, 1), (200_000, 2)])
def test_a_short_body_is_read_before_a_retry_so_that_its_connection_is_used_again(
    server, clock, size, connections
):
    """REST-13: up to 2 KiB."""
    server.on("*", answer(503, b"x" * size, headers=RETRY_AFTER), answer_json({}))

    client_of(server, clock).get().resource("foos").do()

    assert server.connections == connections


def test_a_timeout_holds_over_all_attempts_together(server, clock):
    """REST-14: retries that do not fit into what is left are not begun."""
    server.on("*", answer_status(503, "ServiceUnavailable", headers=RETRY_AFTER))

    with pytest.raises(ServiceUnavailableError):
        client_of(server, clock).get().resource("foos").timeout(10).do()
    assert len(server.requests) == 4
    assert clock.monotonic() == 9.0


def test_a_timeout_ends_an_answer_that_trickles(server):
    """REST-14: a server that says a little from time to time does not stretch it."""
    clock = FakeClock()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    step = [lambda _: clock.step(6.0)]
    server.on("*", send(head) + step + send(b"a") + step + send(b"b") + stay_silent())

    with pytest.raises(TransportTimeoutError, match="not done within its timeout of 10"):
        client_of(server, clock).get().resource("foos").timeout(10).do()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"])
def test_a_timeout_ends_the_wait_for_a_silent_server(server, said):
    """REST-14: long before the 90 seconds that any silence may last."""
    server.on("*", send(said) + stay_silent())
    client = client_of(server, REAL_CLOCK)

    with pytest.raises(TransportTimeoutError):
        client.get().resource("foos").timeout(0.2).max_retries(0).do()


def test_the_timeout_begins_after_the_wait_for_the_first_token(server, clock):
    """REST-03."""
    server.on("*", answer_json({}))
    limiter = TokenBucketRateLimiter(0.01, 1, clock=clock)
    limiter.accept()

    client_of(server, clock, limiter).get().resource("foos").timeout(10).do()

    assert clock.monotonic() == 100.0


def test_a_stop_during_the_wait_for_a_token_is_not_called_throttling(server):
    """REST-03: cancellation is passed on as it is."""
    stop, clock = threading.Event(), AutoClock()
    limiter = TokenBucketRateLimiter(0.01, 1, clock=clock)
    limiter.accept()
    clock.call_at(50.0, stop.set)

    with pytest.raises(RequestStoppedError):
        client_of(server, clock, limiter).get().resource("foos").do(stop)
    assert server.requests == []


def test_a_limiter_that_refuses_is_named(server, clock):
    """REST-03."""
    with pytest.raises(ThrottledError, match=r"GET http.*rate limiter.*raise qps"):
        client_of(server, clock, NeverRateLimiter()).get().resource("foos").do()


class CountingLimiter:
    qps = 1.0

    def __init__(self) -> None:
        self.tokens = 0

    def try_accept(self) -> bool:
        raise AssertionError

    accept = stop = try_accept

    def wait(self, *, timeout: float | None = None, stop: threading.Event | None = None) -> None:
        self.tokens += 1


def test_every_retry_takes_another_token(server, clock):
    """REST-04."""
    limiter = CountingLimiter()
    server.on("*", *[answer_status(503, "", headers=RETRY_AFTER)] * 3, answer_json({}))

    client_of(server, clock, limiter).get().resource("foos").do()

    assert limiter.tokens == 4


def test_the_first_attempt_of_a_watch_takes_no_token_but_that_of_a_stream_does(server, clock):
    """REST-04."""
    limiter = CountingLimiter()
    client = client_of(server, clock, limiter)
    server.on("*", watch_begin() + watch_end())

    client.get().resource("foos").watch(CODEC)
    assert limiter.tokens == 0
    client.get().resource("foos").stream()
    assert limiter.tokens == 1

    server.on("*", hang_up(), watch_begin() + watch_end())
    client.get().resource("foos").watch(CODEC)
    assert limiter.tokens == 2


def test_long_waits_for_the_limiter_are_logged(server, caplog):
    """REST-05."""
    clock = AutoClock()
    server.on("*", answer_json({}))
    limiter = TokenBucketRateLimiter(0.5, 1, clock=clock)
    client = client_of(server, clock, limiter)

    with caplog.at_level(logging.INFO, "clientgo.rest.throttling"):
        client.get().resource("foos").do()
        assert caplog.messages == []
        client.get().resource("foos").do()

    assert "Waited 2.000 s before GET" in caplog.text
    assert "client's own limit" in caplog.text
