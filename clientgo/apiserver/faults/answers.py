"""Answers on which faults act while they leave: those that are cut, and watches.

Promises: a cut answer has begun as it should, and its connection is closed; a watch passes each of
its writes by the injector, which may hold it back, thin it out or cut it.

Does not promise to know faults: what holds for a watch is the injector's to say.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Protocol

from clientgo.apiserver.faults.declarations import Fault, Requests
from clientgo.apiserver.faults.matching import Asked
from clientgo.apiserver.http.messages import Answer, Message, Receive, Send
from clientgo.apiserver.requests.watching import WatchStream


class CutAnswer:
    """An answer that breaks off in its body."""

    def __init__(self, answer: Answer, chance: random.Random) -> None:
        self.headers = answer.headers
        self._answer = answer
        self._random = chance

    async def send(self, send: Send, receive: Receive) -> None:
        """Send the head and a part of the body."""

        async def cut(message: Message) -> None:
            if body := message.get("body"):
                part = body[: _place_of_cut(body, self._random)]
                message = {**message, "body": part, "more_body": True}
            await send(message)  # an answer that never ends makes the HTTP server hang up

        await self._answer.send(cut, receive)


@dataclass(frozen=True, slots=True)
class Cut:
    """How a write to a watch is to break off."""

    random: random.Random
    mid_chunk: bool


class Faults(Protocol):
    """What a watch asks the faults that hold."""

    def enter(self, watch: FaultyWatch) -> None:
        """A watch has begun."""

    def leave(self, watch: FaultyWatch) -> None:
        """A watch has ended."""

    def freezes(self, watch: FaultyWatch) -> bool:
        """Whether a watch is to be told nothing now, though there is something to tell."""

    def withhold(self, watch: FaultyWatch, lines: bytes) -> bytes:
        """The lines without the bookmarks that are not to be sent."""

    def cut(self, watch: FaultyWatch) -> Cut | None:
        """How the next lines are cut; None if they are not."""


class FaultyWatch:
    """A watch whose events pass the faults on their way out."""

    def __init__(
        self, faults: Faults, stream: WatchStream, asked: Asked, behind: list[Fault]
    ) -> None:
        self.headers = stream.headers
        self.behind = behind
        """Faults that held when the watch began, and leave it behind until they are lifted."""
        self._faults = faults
        self._stream = stream
        self._asked = asked
        self._frozen = False
        self._news = asyncio.Event()

    def concerns(self, wanted: Requests) -> bool:
        """Whether a fault means this watch."""
        return self._asked.is_one_of(wanted)

    def close(self, *, abruptly: bool) -> None:
        """End the watch, even if it is frozen."""
        if abruptly:
            self._stream.drop()
        else:
            self._stream.end()
            self.hang_up()

    def look_again(self) -> None:
        """The faults have changed."""
        self._news.set()

    def hang_up(self) -> None:
        """End the watch if it is frozen; there is nobody to thaw it for."""
        if self._frozen:
            self._stream.drop()

    async def send(self, send: Send, receive: Receive) -> None:
        """Write events, as far as the faults let them."""

        async def pass_on(message: Message) -> None:
            if body := message.get("body"):
                await self._thaw()
                body = self._faults.withhold(self, body)
                if body and (cut := self._faults.cut(self)):
                    await self._break_off(message, body, cut, send)
                message = {**message, "body": body}
            await send(message)

        async def listen() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.hang_up()
            return message

        self._faults.enter(self)
        try:
            await self._stream.send(pass_on, listen)
        finally:
            self._faults.leave(self)

    async def _thaw(self) -> None:
        while self._faults.freezes(self):
            self._frozen = True
            self._news.clear()
            await self._news.wait()
        self._frozen = False

    async def _break_off(self, message: Message, body: bytes, cut: Cut, send: Send) -> None:
        part = body[: _place_of_cut(body, cut.random)]
        connection = self._asked.request.connection
        if cut.mid_chunk and connection is not None:
            connection.write(b"%x\r\n%s" % (len(body), part))
            connection.close()
        else:
            await send({**message, "body": part})
        self._stream.drop()
        await asyncio.sleep(0)  # where the watch is cancelled


def _place_of_cut(body: bytes, chance: random.Random) -> int:
    """A place in the last line of a body, behind its first byte and before its end."""
    start = body.rfind(b"\n", 0, len(body) - 1) + 1
    return chance.randrange(start + 1, max(start + 2, len(body) - 1))
