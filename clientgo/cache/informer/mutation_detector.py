"""Finds changes of cached objects, which are shared. For tests and staging: it copies each object.

Promises to report a changed object, with what changed, within about a second, for two to four
minutes after it was cached.

Differs from client-go (``tools/cache`` MutationDetector), which panics: without a callback this
interrupts the main thread, as Ctrl-C does.
"""

from __future__ import annotations

import _thread
import copy
import json
import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from clientgo.cache.store.keys import key_for_report
from clientgo.meta import ObjectDecodeError, Resource, Unstructured
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable

_log = logging.getLogger("clientgo.cache.mutation_detector")

ENVIRONMENT_VARIABLE: Final = "KUBE_CACHE_MUTATION_DETECTOR"
CHECK_EVERY: Final = 1.0
"""Seconds."""
GENERATION: Final = 120.0
"""Seconds after which objects become the old generation, and the old one is forgotten."""


class CacheMutatedError(CopyableError):
    """A cached object was changed; ``obj`` is the object, the message says what changed."""

    def __init__(self, name: str, obj: Any, difference: str) -> None:
        super().__init__(
            f"{name}: the cached object {key_for_report(obj)} was changed; "
            f"change a deep_copy of it instead:\n{difference}"
        )
        self.obj = obj


class _Recorded(Struct):
    obj: Any
    before: Any


@uncopyable("it has locks; make one in each process")
class MutationDetector:
    """Watches the objects of one cache. Thread-safe.

    ``on_mutation`` is called once for each changed object, in the detector's thread.
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
        self._young: list[_Recorded] = []
        self._old: list[_Recorded] = []
        self._rotate_at = clock.monotonic() + GENERATION
        _log.warning("%s: looking for changes of cached objects, which needs memory", name)

    def add(self, obj: Any) -> None:
        """Watch an object from now on."""
        watched = _Recorded(obj, _snapshot(obj))
        with self._lock:
            self._young.append(watched)

    def run(self, stop: threading.Event) -> None:
        """Check all objects every second until ``stop`` is set. Blocks."""
        while not self._clock.sleep(CHECK_EVERY, stop):
            try:
                self.check()
            except BaseException:  # noqa: BLE001 - a thread must not end silently
                _log.exception("%s: comparing cached objects failed; continuing", self._name)

    def check(self) -> None:
        """Compare all objects with their copies, and report those that differ."""
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
    """Return True if ``KUBE_CACHE_MUTATION_DETECTOR`` is ``true``, ``1`` or ``t``."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "").lower() in ("true", "1", "t")


def _snapshot(obj: Any) -> Any:
    if not isinstance(obj, Resource | Unstructured):
        return copy.deepcopy(obj)
    try:
        return obj.to_dict()
    except ObjectDecodeError:  # a body that can't be read, and so not changed either
        return None


def _difference(before: Any, after: Any) -> str:
    import difflib  # few processes need it, and all informers import this module

    return "\n".join(
        difflib.unified_diff(_lines(before), _lines(after), "cached", "now", lineterm="", n=1)
    )


def _lines(snapshot: Any) -> list[str]:
    return json.dumps(snapshot, indent=2, default=repr).splitlines()


def _interrupt(error: CacheMutatedError) -> None:
    _log.critical("%s", error)
    _thread.interrupt_main()
