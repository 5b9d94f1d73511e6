"""What runs in the containers of a server that runs none: functions in the place of programs.

Promises: each stream has a function of its own, in a thread of its own, which may block. It reads
what the client sends when it asks, and its writes wait until the client has read.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.copies import uncopyable

T = TypeVar("T")

_INBOX: Final = 4
"""Messages that a function has not read yet, from which on the connection is not read either."""


class Sender(Protocol):
    """The connection of a stream."""

    async def send(self, channel: int, data: bytes) -> None:
        """Send data; wait until the client has read what came before."""

    def drop(self) -> None:
        """Close the connection."""


class PodStream:
    """One stream to a container, as a program sees it. For the thread of the program."""

    def __init__(self, pod: Object, sender: Sender, output: int) -> None:
        self.pod = pod
        """The pod, as JSON."""
        self.closed = threading.Event()
        """Set when the client is gone."""
        self._sender = sender
        self._output = output
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue(_INBOX)
        self._at_end = False

    def read(self) -> bytes:
        """Return what the client sends next; empty at the end of it. Blocks."""
        data = b"" if self._at_end else self._wait_for(self._inbox.get())
        self._at_end = not data
        return data

    def read_all(self) -> bytes:
        """Return everything that the client sends. Blocks until it ends that."""
        return b"".join(iter(self.read, b""))

    def write(self, data: bytes | str) -> None:
        """Write; blocks until the client has read what came before.

        Raises:
            BrokenPipeError: the client is gone.
        """
        self._send(self._output, data)

    def drop(self) -> None:
        """Break the connection, as a server that dies."""
        self._loop.call_soon_threadsafe(self._sender.drop)

    # -- called on the event loop

    async def put(self, data: bytes) -> None:
        """Add what the client has sent; empty is the end."""
        await self._inbox.put(data)

    def end(self) -> None:
        """Let the program find out that the client is gone."""
        self.closed.set()
        while not self._inbox.empty():
            self._inbox.get_nowait()
        self._inbox.put_nowait(b"")

    def _send(self, channel: int, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        try:
            self._wait_for(self._sender.send(channel, raw))
        except ConnectionError as error:
            raise BrokenPipeError("the client is gone") from error

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@uncopyable("it is a connection")
class PodProcess(PodStream):
    """A command that runs in a container, or the process that a client attaches to."""

    def __init__(
        self, pod: Object, sender: Sender, container: str, command: tuple[str, ...], *, tty: bool
    ) -> None:
        super().__init__(pod, sender, output=1)
        self.container = container
        self.command = command
        """The words of a command; empty for an attached container."""
        self.tty = tty
        self.size: tuple[int, int] | None = None
        """Columns and rows of the client's terminal."""

    def write_error(self, data: bytes | str) -> None:
        """Write to standard error, or to the terminal; as :meth:`write`."""
        self._send(1 if self.tty else 2, data)


@uncopyable("it is a connection")
class PodConnection(PodStream):
    """A connection to a port of a pod."""

    def __init__(self, pod: Object, sender: Sender, channel: int, port: int) -> None:
        super().__init__(pod, sender, output=channel)
        self.channel = channel
        self.port = port


Program: TypeAlias = Callable[[PodProcess], int]
"""Returns an exit code. What it raises is answered as a failure to run it."""

PortProgram: TypeAlias = Callable[[PodConnection], None]
"""Serves one connection until it returns. What it raises is reported to the client."""


@dataclass(frozen=True, slots=True)
class PodPrograms:
    """What a client can run, attach to and connect to; None is answered with 501."""

    exec: Program | None = None
    attach: Program | None = None
    port: PortProgram | None = None
