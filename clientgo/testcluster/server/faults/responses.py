"""Responses that faults change while they are sent: responses that are cut, and watches.

Promises: a cut response begins correctly, then its connection is closed. A watch passes each write
to the injector, which may delay, filter or cut it.

Does not promise to know the faults: the injector decides what applies to a watch.
"""

from __future__ import annotations

import asyncio
import random
from typing import Protocol

import msgspec

from clientgo.testcluster.server.faults.declarations import Fault, Requests
from clientgo.testcluster.server.faults.matching import ResourceRequest
from clientgo.testcluster.server.http.messages import AnyResponse, Message, Receive, Send
from clientgo.testcluster.server.requests.watching import WatchResponse


class CutResponse:
    """A response that ends within its body."""

    def __init__(self, answer: AnyResponse, chance: random.Random) -> None:
        self.headers = answer.headers
        self._answer = answer
        self._random = chance

    async def send(self, send: Send, receive: Receive) -> None:
        """Send the head and a part of the body."""

        async def cut(message: Message) -> None:
            if body := message.get("body"):
                part = body[: _place_of_cut(body, self._random)]
                message = {**message, "body": part, "more_body": True}
            await send(
                message
            )  # after an incomplete response the HTTP server closes the connection

        await self._answer.send(cut, receive)


class Cut(msgspec.Struct, frozen=True):
    """How a write to a watch is cut."""

    random: random.Random
    mid_chunk: bool


class Faults(Protocol):
    """The decisions of the injector about a watch."""

    def enter(self, watch: FaultyWatch) -> None:
        """Add a watch that begins."""

    def leave(self, watch: FaultyWatch) -> None:
        """Remove a watch that has ended."""

    def freezes(self, watch: FaultyWatch) -> bool:
        """Return True if the events of a watch must wait."""

    def withhold(self, watch: FaultyWatch, lines: bytes) -> bytes:
        """Return the lines without the bookmarks that are withheld."""

    def cut(self, watch: FaultyWatch) -> Cut | None:
        """Return how the next lines are cut, or None."""


class FaultyWatch:
    """A watch whose events the injector can delay, filter or cut."""

    def __init__(
        self, faults: Faults, stream: WatchResponse, target: ResourceRequest, behind: list[Fault]
    ) -> None:
        self.headers = stream.headers
        self.behind = behind
        """Faults because of which the watch gets no events until they are lifted."""
        self._faults = faults
        self._stream = stream
        self._target = target
        self._frozen = False
        self._faults_changed = asyncio.Event()

    def is_selected(self, wanted: Requests) -> bool:
        """Return True if a fault selects this watch."""
        return self._target.is_one_of(wanted)

    def close(self, *, abruptly: bool) -> None:
        """End the watch, even if it is frozen."""
        if abruptly:
            self._stream.drop()
        else:
            self._stream.end()
            self.close_if_frozen()

    def check_faults(self) -> None:
        """Check the faults again: they have changed."""
        self._faults_changed.set()

    def close_if_frozen(self) -> None:
        """End the watch if it is frozen: its client or the server is gone."""
        if self._frozen:
            self._stream.drop()

    async def send(self, send: Send, receive: Receive) -> None:
        """Write events, as the faults allow."""

        async def pass_on(message: Message) -> None:
            if body := message.get("body"):
                await self._wait_while_frozen()
                body = self._faults.withhold(self, body)
                if body and (cut := self._faults.cut(self)):
                    await self._break_off(message, body, cut, send)
                message = {**message, "body": body}
            await send(message)

        async def listen() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.close_if_frozen()
            return message

        self._faults.enter(self)
        try:
            await self._stream.send(pass_on, listen)
        finally:
            self._faults.leave(self)

    async def _wait_while_frozen(self) -> None:
        while self._faults.freezes(self):
            self._frozen = True
            self._faults_changed.clear()
            await self._faults_changed.wait()
        self._frozen = False

    async def _break_off(self, message: Message, body: bytes, cut: Cut, send: Send) -> None:
        part = body[: _place_of_cut(body, cut.random)]
        connection = self._target.request.connection
        if cut.mid_chunk and connection is not None:
            connection.write(b"%x\r\n%s" % (len(body), part))
            connection.close()
        else:
            await send({**message, "body": part})
        self._stream.drop()
        await asyncio.sleep(0)  # the watch is cancelled here


def _place_of_cut(body: bytes, chance: random.Random) -> int:
    """Return a position in the last line of a body, after its first byte, before its end."""
    start = body.rfind(b"\n", 0, len(body) - 1) + 1
    return chance.randrange(start + 1, max(start + 2, len(body) - 1))
