"""Finds code that changes cached objects, which belong to everybody.

Promises to notice, within a second or so, that an object which was put into a cache no longer is
what it was, for two to four minutes after it was put there; and to say which object and what
changed. For tests and staging: it keeps a second copy of everything and decodes every body.

Does not promise to find who did it. Differs from client-go (``tools/cache`` MutationDetector),
which ends the process with a panic: without a callback this interrupts the main thread, as Ctrl-C
does.
"""

from __future__ import annotations

import _thread
import copy
import difflib
import json
import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from clientgo.cache.reflector.quarantine import key_for_report
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import Resource, Unstructured

_log = logging.getLogger("clientgo.cache.mutation_detector")

ENVIRONMENT_VARIABLE: Final = "KUBE_CACHE_MUTATION_DETECTOR"
CHECK_EVERY: Final = 1.0
"""Seconds."""
GENERATION: Final = 120.0
"""Seconds after which the objects become the old generation, and the old one is forgotten."""


class CacheMutatedError(Exception):
    """A cached object was changed; ``obj`` is the object, the message says what changed."""

    def __init__(self, name: str, obj: Any, difference: str) -> None:
        super().__init__(
            f"{name}: the cached object {key_for_report(obj)} was changed by somebody; "
            f"change a deep_copy of it instead:\n{difference}"
        )
        self.obj = obj


class _Watched(Struct):
    obj: Any
    before: Any


class MutationDetector:
    """Watches the objects of one cache. Thread-safe.

    ``on_mutation`` is told of every changed object, once, in the detector's thread.
    """

    def __init__(
        self,
        name: str,
        *,
        on_mutation: Callable[[CacheMutatedError], object] | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._name = name
        self._on_mutation = on_mutation or _interrupt
        self._clock = clock
        self._lock = threading.Lock()
        self._young: list[_Watched] = []
        self._old: list[_Watched] = []
        self._rotate_at = clock.monotonic() + GENERATION
        _log.warning("%s: looking for changes of cached objects, which needs memory", name)

    def add(self, obj: Any) -> None:
        """Watch an object from now on."""
        watched = _Watched(obj, _snapshot(obj))
        with self._lock:
            self._young.append(watched)

    def run(self, stop: threading.Event) -> None:
        """Check everything again and again until ``stop`` is set. Blocks."""
        while not self._clock.sleep(CHECK_EVERY, stop):
            try:
                self.check()
            except BaseException:  # noqa: BLE001 - a thread must not end without a word
                _log.exception("%s: comparing cached objects failed; it goes on", self._name)

    def check(self) -> None:
        """Compare all objects with what they were, and report those that differ."""
        with self._lock:
            watched = [*self._old, *self._young]
            if self._clock.monotonic() >= self._rotate_at:
                self._old, self._young = self._young, []
                self._rotate_at = self._clock.monotonic() + GENERATION
        for one in watched:
            now = _snapshot(one.obj)
            if now != one.before:
                difference = _difference(one.before, now)
                one.before = now
                self._on_mutation(CacheMutatedError(self._name, one.obj, difference))


def mutation_detector_enabled() -> bool:
    """Whether ``KUBE_CACHE_MUTATION_DETECTOR`` asks for it (``true``, ``1``, ``t``)."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "").lower() in ("true", "1", "t")


def _snapshot(obj: Any) -> Any:
    return obj.to_dict() if isinstance(obj, Resource | Unstructured) else copy.deepcopy(obj)


def _difference(before: Any, after: Any) -> str:
    return "\n".join(
        difflib.unified_diff(_lines(before), _lines(after), "cached", "now", lineterm="", n=1)
    )


def _lines(snapshot: Any) -> list[str]:
    return json.dumps(snapshot, indent=2, default=repr).splitlines()


def _interrupt(error: CacheMutatedError) -> None:
    _log.critical("%s", error)
    _thread.interrupt_main()
