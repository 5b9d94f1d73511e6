"""The code behind a hop: the line of the library, and the function of the controller.

A place is a file of the package and a text of the line that is shown, not a number, so that it
stays right when the file changes.
"""

from __future__ import annotations

import contextlib
import inspect
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import clientgo

_AROUND: Final = 6
"""Lines before and after the one that is shown."""

_LONGEST: Final = 30
"""Lines of a function."""

PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "request.sent": ("rest/requests/attempts.py", "answer = self._shared.transport.send("),
    "request.answered": ("rest/requests/attempts.py", "code = answer.status"),
    "list.page": ("cache/reflector/reflector.py", "self._source.list(state"),
    "watch.opened": ("cache/reflector/reflector.py", "self._source.watch("),
    "watch.event": ("cache/reflector/reflector.py", "events = self._connection.read()"),
    "watch.ended": ("cache/reflector/reflector.py", '"watch.ended"'),
    "fifo.append": ("cache/queues/delta_fifo.py", "def _append_locked("),
    "fifo.pop": ("cache/queues/handover.py", "batch = self._take_locked("),
    "index.update": ("cache/informer/controller.py", "updated, changes"),
    "handler.call": ("cache/informer/listener.py", "def _deliver"),
    "queue.add": ("workqueue/queue.py", "def _note_locked(self"),
    "queue.add_after": ("workqueue/delaying.py", "self._observer.retried(item, delay)"),
    "queue.add_rate_limited": ("workqueue/rate_limiting.py", "self._rate_limiter.when(item)"),
    "queue.forget": ("workqueue/rate_limiting.py", "self._rate_limiter.forget(item)"),
    "queue.get": ("workqueue/queue.py", "item = self._ready.pop()"),
    "queue.done": ("workqueue/queue.py", "state = self._states.get(item)"),
    "sync.start": ("workqueue/workers.py", "self._handle(key)"),
    "sync.end": ("workqueue/workers.py", "self._handle(key)"),
    "cache.get": ("cache/store/thread_safe_store.py", "return self._items.get(key)"),
    "event.recorded": ("record/recorder.py", "def event("),
}
"""Where each hop happens, in the package ``clientgo``."""

_STANDARD: Final = frozenset({threading.__file__, contextlib.__file__})
_PACKAGE: Final = Path(clientgo.__file__).parent


def library_sources() -> Iterator[dict[str, Any]]:
    """Return the text around the line of each hop; those that are not found are left out."""
    files: dict[str, list[str]] = {}
    for hop, (name, shown) in PLACES.items():
        if name not in files:
            files[name] = _lines(_PACKAGE / name)
        found = [i for i, line in enumerate(files[name]) if shown in line]
        if found:
            first = max(found[0] - _AROUND, 0)
            text = files[name][first : found[0] + _AROUND + 1]
            yield _source(hop, "library", f"clientgo/{name}", found[0] + 1, first + 1, text)


def own_sources(code: Mapping[str, Callable[..., object]]) -> Iterator[dict[str, Any]]:
    """Return the text of functions of the controller, by the hop that calls them."""
    for hop, function in code.items():
        try:
            text, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            continue  # compiled, or typed in
        lines = [line.rstrip() for line in text[:_LONGEST]]
        yield _source(hop, "own", _shown(inspect.getfile(function)), first, first, lines)


def calling_source(hop: str) -> dict[str, Any] | None:
    """Return the line outside of this package by which this thread came here, if there is one."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in _STANDARD and not Path(file).is_relative_to(_PACKAGE):
            try:
                text, first = inspect.getsourcelines(frame.f_code)
            except OSError:
                return None
            lines = [line.rstrip() for line in text[:_LONGEST]]
            return _source(hop, "own", _shown(file), frame.f_lineno, first, lines)
        frame = frame.f_back
    return None


def _source(
    hop: str, whose: str, file: str, line: int, first: int, text: list[str]
) -> dict[str, Any]:
    text = textwrap.dedent("\n".join(text)).splitlines()
    return {"of": hop, "whose": whose, "file": file, "line": line, "first": first, "text": text}


def _shown(file: str) -> str:
    """Return a path as a reader knows it, without where it is on this machine."""
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return f"clientgo/{path.relative_to(_PACKAGE)}"
    return "/".join(path.parts[-2:])


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
