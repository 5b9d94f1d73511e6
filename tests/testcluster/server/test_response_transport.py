"""Head and body of a response are one write, unless that would copy a large body."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from clientgo.testcluster.server.http.response_transport import ResponseTransport, send_whole


class Recorder(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[Any] = []
        self.closing = False

    def write(self, data: Any) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing


def written(*writes: bytes) -> list[Any]:
    """Return what is written for a response, after the event loop has done what is due."""

    async def respond() -> list[Any]:
        recorder = Recorder()
        transport = ResponseTransport(recorder, asyncio.get_running_loop())
        transport.hold_next()
        for data in writes:
            transport.write(data)
        await asyncio.sleep(0)
        return recorder.written

    return asyncio.run(respond())


def test_the_head_is_written_with_the_body() -> None:
    assert written(b"head ", b"body ", b"more") == [b"head body ", b"more"]


def test_a_head_without_a_body_is_written_soon() -> None:
    assert written(b"head") == [b"head"]


def test_a_large_body_is_not_copied() -> None:
    body = b"x" * 1_000_000

    head, sent = written(b"head", body)

    assert head == b"head"
    assert sent is body


def test_a_complete_response_is_written_in_one_step() -> None:
    async def respond() -> list[Any]:
        recorder = Recorder()
        transport = ResponseTransport(recorder, asyncio.get_running_loop())
        transport.hold_next()
        transport.write_whole(b"head ", b"body")
        return recorder.written

    assert asyncio.run(respond()) == [b"head body"]


def test_nothing_is_written_to_a_connection_that_is_lost() -> None:
    """asyncio logs "socket.send() raised exception." for such writes."""

    async def respond() -> list[Any]:
        recorder = Recorder()
        transport = ResponseTransport(recorder, asyncio.get_running_loop())
        recorder.closing = True
        transport.write(b"event")
        return recorder.written

    assert asyncio.run(respond()) == []


def sent(headers: list[tuple[bytes, bytes]], **how: Any) -> tuple[bytes, list[str]]:
    """Return what is written for a complete response, and what follows."""

    async def respond() -> tuple[bytes, list[str]]:
        recorder, events = Recorder(), list[str]()
        log = logging.getLogger(__name__)
        cycle = RequestResponseCycle(
            scope={"method": how.get("method", "GET")},  # type: ignore[typeddict-item]
            transport=recorder,
            flow=FlowControl(recorder),
            logger=log,
            access_logger=log,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=how.get("keep_alive", True),
            on_response=lambda: events.append("next"),
        )
        transport = ResponseTransport(recorder, asyncio.get_running_loop())
        await send_whole(cycle, transport, 200, headers, b"body")
        assert cycle.response_complete
        return b"".join(recorder.written), events + ["closed"] * recorder.closing

    return asyncio.run(respond())


HEADERS = [(b"content-length", b"4")]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"


def test_a_connection_is_kept_after_a_complete_response() -> None:
    assert sent(HEADERS) == (HEAD + b"\r\nbody", ["next"])


def test_a_complete_response_says_that_it_is_the_last() -> None:
    written, events = sent(HEADERS, keep_alive=False)

    assert written == HEAD + b"connection: close\r\n\r\nbody"
    assert events == ["next", "closed"]


def test_a_complete_response_to_head_has_no_body() -> None:
    assert sent(HEADERS, method="HEAD") == (HEAD + b"\r\n", ["next"])


def test_a_header_of_two_lines_is_not_sent() -> None:
    with pytest.raises(RuntimeError, match="header"):
        sent([(b"warning", b"a\r\nset-cookie: b")])
