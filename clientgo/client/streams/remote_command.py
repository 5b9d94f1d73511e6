"""A command in a container, or an attached container: its output, its input, how it ended.

Promises: output comes in the order of each stream, byte by byte as it was written; an exit code is
what the server said, and a stream that ends without it is an error, never a success. Nothing is
read ahead: a program that stops reading stops the command at its next write.

Does not kill the command when a timeout has passed or the stream is closed: the API has no call for
that. Upstream: client-go ``tools/remotecommand``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, Final, Literal, NamedTuple, Self, TypeAlias

import msgspec

from clientgo.client.streams.channels import PIECE, ChannelSocket, ChannelStream, Idle
from clientgo.meta import DecodeError, Status, error_from_status
from clientgo.meta.wire.answers import read_status
from clientgo.rest import ConnectionLostError, RequestError, TransportError, TransportTimeoutError
from clientgo.rest.requests.failure import mention_request
from clientgo.util.copies import CopyableError, uncopyable

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

_STDIN: Final = 0
_OUTPUTS: Final[dict[int, Literal["stdout", "stderr"]]] = {1: "stdout", 2: "stderr"}
_STATUS: Final = 3
_RESIZE: Final = 4
_CLOSE: Final = 255

_LARGEST_STATUS: Final = 1024 * 1024
_MOST_KEPT: Final = 64 * 1024 * 1024
_LAST_WORDS: Final = 5.0
"""Seconds that a server may take to close the stream after the status."""


Stdin: TypeAlias = bytes | str | BinaryIO | Iterable[bytes]


class Output(NamedTuple):
    """What a command has written; may end within a character or line."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class CommandFailedError(CopyableError):
    """A command ended with another exit code than 0."""

    def __init__(self, exit_code: int, stderr: bytes) -> None:
        said = stderr[-500:].decode(errors="replace").strip()
        super().__init__(f"the command ended with exit code {exit_code}{said and f': {said}'}")
        self.exit_code = exit_code
        self.stderr = stderr


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended; 128 plus a signal's number is the exit code of one that was killed."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    def check(self) -> Self:
        """Return the result itself; raises :class:`CommandFailedError` unless the code is 0."""
        if self.exit_code != 0:
            raise CommandFailedError(self.exit_code, self.stderr)
        return self


@uncopyable("it is a connection to a server; make one in each process")
class RemoteCommand(ChannelStream):
    """A command that runs, or a container that is attached; a context manager.

    One thread reads; any may write, or call :meth:`stop`. Methods raise
    :class:`~clientgo.rest.TransportError`, and reading :class:`~clientgo.meta.StatusError` at the
    end of what has no exit code, as of a command that could not be started.
    """

    def __init__(self, channels: ChannelSocket, *, has_exit_code: bool = True) -> None:
        super().__init__(channels)
        self._has_exit_code = has_exit_code
        self._status_text = b""
        self._status: Status | None = None
        self._ended = False
        self.exit_code: int | None = None
        """Known when all output was read; stays None for an attached container."""

    def read(self, timeout: float | None = None) -> Output | None:
        """Return what was written next; None at the end. Blocks, at most ``timeout`` seconds."""
        output = self._read(timeout)
        assert not isinstance(output, Idle)
        return output

    def __iter__(self) -> Iterator[Output]:
        """Iterate over the output until the command ends."""
        return iter(self.read, None)

    def write(self, data: bytes) -> None:
        """Send input; blocks while the command does not read it."""
        self._channels.send(_STDIN, data)

    def close_stdin(self) -> None:
        """End the input, so that the command reads an end of file; output goes on."""
        self._check_half_close()
        self._channels.send(_CLOSE, bytes([_STDIN]))

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal of a command with ``tty``."""
        self._channels.send(_RESIZE, msgspec.json.encode({"Width": columns, "Height": rows}))

    def run(
        self,
        stdin: Stdin | None,
        stdout: BinaryIO | None,
        stderr: BinaryIO | None,
        timeout: float | None,
    ) -> ExecResult:
        """Send all input and read all output, in this thread; see ``exec`` of a client of pods."""
        kept = {"stdout": _Kept(), "stderr": _Kept()}
        writers: dict[str, BinaryIO] = {**kept}
        writers |= {"stdout": stdout} if stdout is not None else {}
        writers |= {"stderr": stderr} if stderr is not None else {}
        pieces = None if stdin is None else _pieces_of(stdin)
        if pieces is not None:
            self._check_half_close()
        clock = self._channels.clock
        deadline = None if timeout is None else clock.monotonic() + timeout
        while True:
            left = None if deadline is None else deadline - clock.monotonic()
            if left is not None and left <= 0:
                raise self._late(timeout)
            try:
                output = self._read(left, until_idle=pieces is not None)
            except TransportTimeoutError as error:
                if deadline is None or clock.monotonic() < deadline:
                    raise
                raise self._late(timeout) from error
            if output is None:
                break
            if isinstance(output, Output):
                writers[output.stream].write(output.data)
            elif pieces is not None and self._status is None:
                pieces = self._put_next(pieces)
            else:
                pieces = None  # it has ended
        assert self.exit_code is not None
        return ExecResult(self.exit_code, kept["stdout"].getvalue(), kept["stderr"].getvalue())

    def _read(self, timeout: float | None, *, until_idle: bool = False) -> Output | Idle | None:
        while not self._ended:
            if self._status is not None:
                timeout = _LAST_WORDS if timeout is None else min(timeout, _LAST_WORDS)
            try:
                message = self._channels.receive(timeout, until_idle=until_idle)
            except (ConnectionLostError, TransportTimeoutError):
                if self._status is None:
                    raise
                message = None
            if isinstance(message, Idle):
                return message
            if message is None:
                self._end()
            elif message[0] == _STATUS:
                self._read_status(message[1])
            elif stream := _OUTPUTS.get(message[0]):
                return Output(stream, message[1])
        return None

    def _late(self, timeout: float | None) -> TransportTimeoutError:
        return TransportTimeoutError(
            *self._channels.request,
            f"the command has not ended within {timeout} s; it may go on in the container",
        )

    def _put_next(self, pieces: Iterator[memoryview]) -> Iterator[memoryview] | None:
        piece = next(pieces, None)
        if piece is None:
            self._channels.put(_CLOSE, bytes([_STDIN]))
            return None
        self._channels.put(_STDIN, piece)
        return pieces

    def _check_half_close(self) -> None:
        if self._channels.protocol != V5:
            raise TransportError(
                *self._channels.request,
                f"the server speaks {self._channels.protocol}, which cannot end the input of a "
                "command alone; Kubernetes 1.30 can: use write() with a command that does not "
                "read to the end",
            )

    def _read_status(self, data: bytes) -> None:
        self._status_text += data
        if len(self._status_text) > _LARGEST_STATUS:
            raise DecodeError(f"not a Status: {self._status_text[:120]!r}")
        with suppress(msgspec.MsgspecError):  # it is not complete
            self._status = read_status(self._status_text)

    def _end(self) -> None:
        self._ended = True
        status, request = self._status, self._channels.request
        if status is None:
            said = f" ({self._status_text[:120]!r})" if self._status_text else ""
            raise ConnectionLostError(
                *request, f"the server did not say how the command ended{said}; it may have run"
            )
        code = _exit_code(status)
        if code is None:
            error = error_from_status(status)
            mention_request(error, *request)
            raise error
        if self._has_exit_code:
            self.exit_code = code


class _Kept(BytesIO):
    """Keeps output in memory, up to a limit."""

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > _MOST_KEPT:
            raise RequestError(
                f"the command has written more than {_MOST_KEPT} bytes; pass a file as stdout or "
                "stderr"
            )
        return super().write(data)


def _pieces_of(stdin: Stdin) -> Iterator[memoryview]:
    """Cut input into what is sent as one message."""
    if isinstance(stdin, str | bytes):
        stdin = (stdin.encode() if isinstance(stdin, str) else stdin,)
    elif hasattr(stdin, "read"):
        stdin = iter(partial(stdin.read, PIECE), b"")
    for source in stdin:
        view = memoryview(source)
        for start in range(0, len(view), PIECE):
            yield view[start : start + PIECE]


def _exit_code(status: Status) -> int | None:
    """Return the exit code that a Status has; None if it is of another failure."""
    if status.status == "Success":
        return 0
    if status.reason == "NonZeroExitCode":
        for cause in status.details.causes:
            if cause.reason == "ExitCode" and cause.message.isdecimal():
                return int(cause.message)
    return None
