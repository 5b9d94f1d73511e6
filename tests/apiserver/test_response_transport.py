"""Head and body of a response are one write, unless that would copy a large body."""

from __future__ import annotations

import asyncio
from typing import Any

from clientgo.apiserver.http.response_transport import ResponseTransport


class Recorder(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[Any] = []
        self.closing = False

    def write(self, data: Any) -> None:
        self.written.append(data)

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


def test_nothing_is_written_to_a_connection_that_is_lost() -> None:
    """asyncio logs "socket.send() raised exception." for such writes."""

    async def respond() -> list[Any]:
        recorder = Recorder()
        transport = ResponseTransport(recorder, asyncio.get_running_loop())
        recorder.closing = True
        transport.write(b"event")
        return recorder.written

    assert asyncio.run(respond()) == []
