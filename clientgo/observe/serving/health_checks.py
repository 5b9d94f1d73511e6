"""Named health checks, and the page with their results.

Promises: the checks of a report run at the same time, each for ``timeout`` at most; one that hangs
is reported, and not run again before it ends. The page says which check failed; the log says why,
once when it begins to fail and once when it recovers.

Does not promise to know when a restart helps: a check for ``/healthz`` should fail only if a
restart repairs it, one for ``/readyz`` if it will pass by itself.

Source: k8s.io/apiserver/pkg/server/healthz, with its paths, parameters and texts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clientgo.observe.serving.messages import Request, Response
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import SupervisedThread, ThreadStartError

_log = logging.getLogger("clientgo.observe.serving")


class CheckTimeoutError(CopyableError):
    """A check did not answer in time."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; it passed without an ``error``, or was ``excluded``."""

    name: str
    error: BaseException | None = None
    excluded: bool = False

    def __str__(self) -> str:
        if self.excluded:
            return f"[+]{self.name} excluded: ok"
        if self.error is not None:
            return f"[-]{self.name} failed: reason withheld"
        return f"[+]{self.name} ok"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The results of all checks at one time, sorted by name."""

    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        return all(result.error is None for result in self.results)


@uncopyable("it has locks; make one in each process")
class HealthChecks:
    """The checks behind one path; ``name`` stands in texts and logs. Thread-safe.

    ::

        healthy = HealthChecks("healthz")
        healthy.add("workers", controller.check_workers)
        Server(":8081", {"/healthz": healthy.respond})

    ``timeout`` is in seconds. Without checks the answer is ok.
    """

    def __init__(self, name: str, *, timeout: float = 1.0) -> None:
        self._name = name
        self._timeout = timeout
        self._lock = threading.Lock()
        self._checks: dict[str, _Check] = {"ping": _Check(lambda: None)}
        self._failing: frozenset[str] = frozenset()

    def add(self, name: str, check: Callable[[], object]) -> None:
        """Add a check, which passes if it returns. Raises ``ValueError`` for a name in use."""
        with self._lock:
            if name in self._checks:
                raise ValueError(f"{self._name} has a check called {name!r} already")
            self._checks[name] = _Check(check)

    def report(self, *, only: str = "", exclude: Iterable[str] = ()) -> HealthReport:
        """Run the checks, or ``only`` one of them. Blocks for up to the timeout.

        Raises ``KeyError`` for an unknown name in ``only``.
        """
        with self._lock:
            checks = {only: self._checks[only]} if only else dict(sorted(self._checks.items()))
        excluded = set(exclude)
        deadline = time.monotonic() + self._timeout
        runs = {name: check.run() for name, check in checks.items() if name not in excluded}
        results = tuple(
            CheckResult(name, self._outcome(runs[name], deadline))
            if name in runs
            else CheckResult(name, excluded=True)
            for name in checks
        )
        self._say_what_changed(results)
        return HealthReport(results)

    def respond(self, request: Request) -> Response:
        """Return the page: ``/readyz``, ``?verbose``, ``?exclude=NAME`` and ``/readyz/NAME``."""
        excluded = request.query.get("exclude", [])
        try:
            report = self.report(only=request.rest, exclude=excluded)
        except KeyError:
            return Response(404, b"404 page not found\n")
        if report.ok and "verbose" not in request.query:
            return Response(200, b"ok")
        lines = [str(result) for result in report.results]
        unknown = [name for name in excluded if name not in {r.name for r in report.results}]
        if unknown:
            names = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        lines.append(f"{self._name} check {'passed' if report.ok else 'failed'}")
        return Response(200 if report.ok else 500, ("\n".join(lines) + "\n").encode())

    def _outcome(self, run: _Run, deadline: float) -> BaseException | None:
        if run.ended.wait(max(deadline - time.monotonic(), 0)):
            return run.error
        return CheckTimeoutError(f"it did not answer within {self._timeout:g} s")

    def _say_what_changed(self, results: tuple[CheckResult, ...]) -> None:
        errors = {result.name: result.error for result in results if result.error is not None}
        asked = {result.name for result in results if not result.excluded}
        with self._lock:
            began = errors.keys() - self._failing
            over = (self._failing & asked) - errors.keys()
            self._failing = (self._failing - over) | began
        for name in sorted(began):
            _log.warning("%s: check %s fails: %s", self._name, name, errors[name])
        for name in sorted(over):
            _log.info("%s: check %s passes again", self._name, name)


class _Run:
    """One call of a check, in a thread of its own."""

    def __init__(self, check: Callable[[], object]) -> None:
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._check = check
        try:
            SupervisedThread.started(self._call, name="health-check", then="the check has failed")
        except ThreadStartError as error:
            self.error = error
            self.ended.set()

    def _call(self) -> None:
        try:
            self._check()
        except BaseException as error:  # noqa: BLE001 - SystemExit must not look like success
            self.error = error
        finally:
            self.ended.set()


class _Check:
    """A check and its last run, which callers share while it lasts."""

    def __init__(self, check: Callable[[], object]) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._last: _Run | None = None

    def run(self) -> _Run:
        with self._lock:
            if self._last is None or self._last.ended.is_set():
                self._last = _Run(self._check)
            return self._last
