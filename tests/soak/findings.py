"""What a run has found: broken promises, log lines that say too much, and figures."""

from __future__ import annotations

import gc
import logging
import resource
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHOWN = 3
"""So many failures of one kind are printed in full."""

SHOWN_LENGTH = 600
"""So many characters of the problems of a long wait are printed."""

_OF_USERS = ("clientgo.operator.reconcile",)
"""Loggers of errors that a user's code has raised, for which a traceback is right."""


class DeliberateError(Exception):
    """What handlers, workers and reconcilers raise on purpose."""


class Findings:
    """Collects failures and figures from all threads. Thread-safe."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Writes, notifications, syncs, faults by name."""
        self.failures: Counter[str] = Counter()
        self.longest: dict[str, tuple[float, str, str, str]] = {}
        """The longest wait for each kind of problem: seconds, where, and what the first and the
        last problem were."""
        self.place = ""
        self._lock = threading.Lock()
        self._tracked: list[weakref.ref[Any]] = []

    def count(self, what: str, number: int = 1) -> None:
        """Add to a figure."""
        with self._lock:
            self.counts[what] += number

    def fail(self, kind: str, details: str) -> None:
        """Note a broken promise; print the first ones of each kind."""
        with self._lock:
            self.failures[kind] += 1
            if self.failures[kind] <= SHOWN:
                print(f"\nFAILURE in {self.place}: {kind}: {details}", flush=True)

    def await_that(self, problem: Callable[[], str], kind: str, timeout: float) -> None:
        """Wait until ``problem`` returns nothing; it is a failure after ``timeout`` seconds.

        Both the first and the last problem are kept: the last may be over when it is described.
        """
        began, first, last = time.monotonic(), "", ""
        while text := problem():
            first, last = first or text, text
            if time.monotonic() > began + timeout:
                self.fail(kind, f"not within {timeout:g} s: {text}")
                return
            time.sleep(0.05)
        took = time.monotonic() - began
        self.longest[kind] = max(
            self.longest.get(kind, (0.0, "", "", "")), (took, self.place, first, last)
        )

    def track(self, thing: Any) -> None:
        """Expect that something is freed by the end of the round."""
        with self._lock:
            self._tracked.append(weakref.ref(thing))

    def check_freed(self) -> None:
        """Check that the garbage collector frees what was tracked."""
        gc.collect()
        left = Counter(type(thing).__name__ for ref in self._tracked if (thing := ref()))
        self._tracked.clear()
        if left:
            self.fail("objects are not freed", str(dict(left)))

    def report(self) -> str:
        """Return all figures, the longest waits and the failures."""
        lines = [f"{count:9} {what}" for what, count in sorted(self.counts.items())]
        for kind, (took, place, first, last) in self.longest.items():
            lines.append(f"{took:7.1f} s at most until not: {kind} ({place})")
            lines += [f"  at first: {first[:SHOWN_LENGTH]}", f"  at last: {last[:SHOWN_LENGTH]}"]
        lines += [f"{n:9} FAILURES: {kind}" for kind, n in self.failures.most_common()]
        return "\n".join(lines)


class LogWatch(logging.Handler):
    """Counts the log lines of the library by their template.

    A critical line is a failure, and so is a traceback of an error that is not deliberate.
    """

    def __init__(self, findings: Findings) -> None:
        super().__init__(logging.INFO)
        self._findings = findings
        self._templates: Counter[tuple[str, str, str]] = Counter()
        self._samples: dict[tuple[str, str, str], str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Count a line and check it."""
        key = record.levelname, record.name, str(record.msg)
        self._templates[key] += 1
        self._samples.setdefault(key, record.getMessage()[:300])
        if record.levelno >= logging.CRITICAL:
            self._findings.fail("a critical log line", record.getMessage())
        if record.exc_info is None or record.name in _OF_USERS:
            return
        if not isinstance(record.exc_info[1], DeliberateError):
            text = logging.Formatter().formatException(record.exc_info)
            self._findings.fail(f"a traceback: {record.msg}", f"{record.getMessage()}\n{text}")

    def report(self) -> str:
        """Return one line for each template, with its number."""
        return "\n".join(
            f"{count:7} {key[0]} {key[1]}: {self._samples[key]}"
            for key, count in self._templates.most_common()
        )


def resident_megabytes() -> float:
    """Return the memory that this process uses now; its maximum where only that is known."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 1024**2
