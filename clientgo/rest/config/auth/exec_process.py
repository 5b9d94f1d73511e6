"""Running a credential plugin.

Promises: what the plugin writes to stderr goes to the stderr of this program; its last lines are
kept for an error. A process that the plugin leaves running delays no request, even if it has
inherited stdout. A plugin that no request waits for is killed. Its children are killed too, unless
it may use the terminal: then they share the process group of this program, to ask the user.

Differs from client-go, which waits until every process has closed stdout, and cannot end a plugin.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Final, NamedTuple

from clientgo.rest.config.auth.renewed import AbandonedError
from clientgo.rest.config.config_error import ConfigError
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import StopEvent, call_when_set

LONGEST_OUTPUT: Final = 1 << 20
_KEPT_OF_STDERR: Final = 2000
_PIECE: Final = 1 << 16


class Finished(NamedTuple):
    """How a plugin ended. ``status`` is negative for a signal."""

    status: int
    output: bytes
    complaint: str


def run_plugin(
    path: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    interactive: bool,
    abandoned: StopEvent,
) -> Finished:
    """Run the program at ``path`` to its end and return what it wrote.

    Raises ``OSError`` and ``ValueError`` if it cannot be started, :class:`AbandonedError` after
    ``abandoned`` is set, and :class:`ConfigError` for more output than 1 MiB.
    """
    own_group = not _has_terminal()
    process = subprocess.Popen(
        arguments,
        executable=path,
        env=environment,
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0 if own_group else None,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    kill = partial(_kill, process, own_group)
    with process.stdout, process.stderr:
        registration = call_when_set(abandoned, kill)
        try:
            output, complaint = _Output(), _Complaint()
            with _exit_of(process) as exited:
                _read({process.stdout: output, process.stderr: complaint}, exited)
            status = process.wait()
        except BaseException:
            kill()
            process.wait()
            raise
        finally:
            registration.cancel()
    if abandoned.is_set():
        raise AbandonedError
    return Finished(status, bytes(output.received), complaint.text())


class _Output:
    """What comes from stdout."""

    def __init__(self) -> None:
        self.received = bytearray()

    def take(self, piece: bytes) -> None:
        self.received += piece
        if len(self.received) > LONGEST_OUTPUT:
            raise ConfigError(
                f"the credential plugin printed more than {LONGEST_OUTPUT} bytes",
                advice="let it print one ExecCredential",
            )


class _Complaint:
    """What comes from stderr: passed on, and its end kept."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._kept = ""

    def take(self, piece: bytes) -> None:
        text = self._decoder.decode(piece)
        self._kept = (self._kept + text)[-_KEPT_OF_STDERR:]
        # A program without a stderr, or with a closed one, does not fail for that.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def text(self) -> str:
        return one_line(self._kept)


def one_line(text: str) -> str:
    """Return a text of a program as a part of a message: no line breaks, no terminal escapes."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in words)


def _read(takers: dict[IO[bytes], _Output | _Complaint], exited: int) -> None:
    """Read until all pipes have ended, or the process has and nothing is left in them."""
    with selectors.DefaultSelector() as selector:
        for pipe in takers:
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ)
        selector.register(exited, selectors.EVENT_READ)
        while len(selector.get_map()) > 1:
            for key, _ in selector.select():
                if key.fileobj == exited:
                    for pipe, taker in takers.items():
                        _read_what_is_there(pipe, taker)
                    return
                pipe = key.fileobj  # type: ignore[assignment]
                if not _read_once(pipe, takers[pipe]):
                    selector.unregister(pipe)


def _read_what_is_there(pipe: IO[bytes], taker: _Output | _Complaint) -> None:
    for _ in range(LONGEST_OUTPUT // _PIECE):  # a process that was left behind may go on writing
        with contextlib.suppress(BlockingIOError):
            if _read_once(pipe, taker):
                continue
        return


def _read_once(pipe: IO[bytes], taker: _Output | _Complaint) -> bool:
    piece = os.read(pipe.fileno(), _PIECE)
    taker.take(piece)
    return bool(piece)


@contextlib.contextmanager
def _exit_of(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """A descriptor that is readable once the process has ended."""
    reader, writer = os.pipe()

    def wait() -> None:
        try:
            process.wait()
        finally:
            os.close(writer)

    watcher = SupervisedThread(wait, name="clientgo-plugin-exit", then="the plugin is not awaited")
    try:
        watcher.start()
    except BaseException:
        os.close(writer)
        os.close(reader)
        raise
    try:
        yield reader
    finally:
        os.close(reader)


def _kill(process: subprocess.Popen[bytes], own_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended already
        if own_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _has_terminal() -> bool:
    """Return True if this program has a terminal that a plugin may talk to, as by /dev/tty."""
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
