"""Scenarios: what a server does wrong, and how to tell from outside that an informer survived.

A scenario is a function of a :class:`Field`. It returns, possibly with an observation worth a
place in the table, or raises :class:`NotSurvivedError`. It waits on conditions only: requests that
come in, and calls of handlers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from clientgo.testing.scripted_server import ScriptedServer
from tests.field.collection import Collection
from tests.field.objects import PODS
from tests.field.subject import Call, MakeSubject, Options, Subject


class NotSurvivedError(AssertionError):
    """The informer did not do what it must; the text says what it did."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A case of the field: its row, what must hold, and how to find out.

    ``theme`` is the module that it is written in.
    """

    row: str
    claim: str
    theme: str
    run: Callable[[Field], str | None]

    def __str__(self) -> str:
        return f"{self.row} {self.claim}"


SCENARIOS: list[Scenario] = []


def scenario(row: str, cases: Sequence[Any] | None = None) -> Callable[[Any], Any]:
    """Registers a function, whose name is the claim; for each case, if there are several."""

    def register(function: Callable[..., str | None]) -> Callable[..., str | None]:
        claim = function.__name__.replace("_", " ")
        theme = function.__module__.rpartition(".")[2]
        if cases is None:
            SCENARIOS.append(Scenario(row, claim, theme, function))
        for case in cases or ():
            run = lambda field, case=case: function(field, case)  # noqa: E731
            SCENARIOS.append(Scenario(row, f"{claim}: {case}", theme, run))
        return function

    return register


class Recorder:
    """A handler that remembers what it was told; ``then`` is called afterwards."""

    def __init__(
        self, changed: threading.Condition, then: Callable[[Call], object] | None = None
    ) -> None:
        self._changed = changed
        self._then = then
        self._calls: list[Call] = []

    def __call__(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()
        if self._then is not None:
            self._then(call)

    @property
    def calls(self) -> list[Call]:
        with self._changed:
            return list(self._calls)

    @property
    def count(self) -> int:
        """How often it was called."""
        return len(self._calls)

    def told(self, key: str) -> list[str]:
        """What was told of one object, in order: its additions, updates and deletions."""
        return [call.kind for call in self.calls if call.key == key]


class Field:
    """A server, the informers that read it, and ways to wait. A context manager.

    ``patience`` is for how long something that must happen is waited for.
    """

    def __init__(self, make: MakeSubject, *, patience: float = 30.0) -> None:
        self._make = make
        self._patience = patience
        self._changed = threading.Condition()
        self._subjects: list[Subject] = []
        self._threads_before = set(threading.enumerate())
        self.server = ScriptedServer()
        self.pods = self.collection(PODS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for subject in self._subjects:
            subject.stop()
        self.server.close()

    def collection(self, path: str) -> Collection:
        return Collection(self.server, path, self._changed)

    def informer(self, path: str = PODS, **options: Any) -> Subject:
        """A new informer, not yet started; options are those of :class:`Options`."""
        subject = self._make(self.server.url, Options(path=path, **options), self.notify)
        self._subjects.append(subject)
        return subject

    def notify(self, *_: Any) -> None:
        """Look again at what is waited for; may be a handler."""
        with self._changed:
            self._changed.notify_all()

    def noting(self, into: list[Any]) -> Callable[[Any], None]:
        """A function that keeps what it is called with."""

        def note(value: Any) -> None:
            with self._changed:
                into.append(value)
                self._changed.notify_all()

        return note

    def reopen_server(self) -> Collection:
        """Listen again on the port of the server that was closed; the Pods are scripted anew."""
        self.server = ScriptedServer(self.server.port)
        self.pods = self.collection(PODS)
        return self.pods

    def recorder(self, then: Callable[[Call], object] | None = None) -> Recorder:
        return Recorder(self._changed, then)

    def watched(self, path: str = PODS, **options: Any) -> tuple[Subject, Recorder]:
        """A started informer, and what its handler is told."""
        subject, recorder = self.informer(path, **options), self.recorder()
        subject.add_handler(recorder)
        subject.start()
        return subject, recorder

    # Judging

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise NotSurvivedError(otherwise)

    def until(
        self,
        condition: Callable[[], object],
        otherwise: str | Callable[[], str],
        within: float | None = None,
    ) -> None:
        """Wait for something that must come to be; it is looked at after each request and call."""
        patience = self._patience if within is None else within
        with self._changed:
            if self._changed.wait_for(condition, patience):
                return
        raise NotSurvivedError(otherwise if isinstance(otherwise, str) else otherwise())

    def never(self, condition: Callable[[], object], within: float, otherwise: str) -> None:
        """Watch for a while that something does not come to be."""
        with self._changed:
            if self._changed.wait_for(condition, within):
                raise NotSurvivedError(otherwise)

    def requests_within(self, seconds: float) -> int:
        """How many requests come in during this time."""
        before = self.pods.requests
        with self._changed:
            self._changed.wait_for(lambda: False, seconds)
        return self.pods.requests - before

    def stops(self, subject: Subject, within: float = 30.0) -> None:
        """Stop an informer, which must have ended in time and left no thread behind."""
        thread = threading.Thread(target=subject.stop, name="stopping", daemon=True)
        thread.start()
        thread.join(within)
        self.check(not thread.is_alive(), f"stop() still blocked after {within:g} s")
        self.ends(within)

    def ends(self, within: float = 30.0) -> None:
        """Every thread that was started since the beginning must end in time."""
        for thread in self.threads():
            thread.join(within)
        left = [thread.name for thread in self.threads()]
        self.check(not left, f"still running after {within:g} s: {', '.join(left)}")

    def threads(self) -> list[threading.Thread]:
        """The threads that informers have started; the server's are not counted."""
        return [
            thread
            for thread in set(threading.enumerate()) - self._threads_before
            if thread.is_alive() and not thread.name.startswith(("scripted-server", "stopping"))
        ]


@contextmanager
def logged(level: int = logging.WARNING) -> Iterator[list[logging.LogRecord]]:
    """What is logged in the block, at this level or above."""
    keeper = _Keeper(level)
    root = logging.getLogger()
    root.addHandler(keeper)
    try:
        yield keeper.records
    finally:
        root.removeHandler(keeper)


class _Keeper(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
