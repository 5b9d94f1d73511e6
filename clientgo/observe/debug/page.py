"""The page, and what it shows of queues and informers.

Promises that a part which can't be read says why and hides no other, and that reading changes
nothing. Locks are held for a snapshot only, so parts of one answer may be a moment apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, Protocol

import msgspec

from clientgo.meta import ObjectName, metadata_of
from clientgo.observe.debug.stacks import thread_stacks
from clientgo.observe.serving import Request, Response
from clientgo.util.copies import uncopyable
from clientgo.util.text.escapes import escaped

DEBUG_PATH: Final = "/debug/clientgo"

_JSON: Final = "application/json"
_LONGEST_LINE: Final = 110

Explainer = Callable[[str], Iterable[str]]
"""From a key to what is to say about it, each one or more lines."""


class InspectedQueue(Protocol):
    """The part of a work queue that is shown; a :class:`~clientgo.workqueue.Queue` has it."""

    def statistics(self) -> Any: ...

    def explain(self, item: Any, /) -> Any: ...


class InspectedInformer(Protocol):
    """The part of an informer that is shown; a ``SharedIndexInformer`` has it."""

    @property
    def name(self) -> str: ...

    @property
    def indexer(self) -> Any: ...

    def has_synced(self) -> bool: ...

    def last_error(self) -> Any: ...

    def statistics(self) -> Any: ...


@uncopyable("it has locks; make one in each process")
class DebugPage:
    """Sections that are read when the page is asked for, and explanations of keys. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sections: dict[str, list[Callable[[], Any]]] = {}
        self._explainers: list[Explainer] = []

    # What it shows

    def add(self, section: str, read: Callable[[], Mapping[str, Any]]) -> None:
        """Show what ``read`` returns: values of JSON, dataclasses, and exceptions."""
        with self._lock:
            self._sections.setdefault(section, []).append(read)

    def explain_with(self, explain: Explainer) -> None:
        """Ask a function about keys. It raises ``ValueError`` for what is no key."""
        with self._lock:
            self._explainers.append(explain)

    def add_queue(self, queue: InspectedQueue) -> None:
        """Show a queue. A key is looked up as text and as an ``ObjectName``."""

        def read() -> dict[str, Any]:
            statistics = asdict(queue.statistics())
            statistics.pop("next_due", None)  # an instant of a clock that the reader does not see
            return {statistics.pop("name") or "queue without a name": statistics}

        def explain(key: str) -> Iterator[str]:
            items: tuple[Hashable, ...] = (key, ObjectName.parse(key))
            found = [queue.explain(item) for item in items]
            known = [each for each in found if each.state != "unknown" or each.due is not None]
            name = queue.statistics().name
            yield f"queue {name}: {known[0] if known else found[-1]}"

        self.add("queues", read)
        self.explain_with(explain)

    def add_informers(self, informers: Callable[[], Iterable[InspectedInformer]]) -> None:
        """Show the informers that a function returns at that moment."""

        def explain(key: str) -> Iterator[str]:
            for informer in informers():
                found = informer.indexer.get_by_key(key)
                if found is not None:
                    version = metadata_of(found).resource_version
                    yield f"informer {informer.name}: has version {version} of it"
                elif informer.has_synced():
                    yield f"informer {informer.name}: has no such object"
                else:
                    why = informer.last_error() or "waiting for the first list"
                    yield f"informer {informer.name}: not synced: {why}"

        self.add("informers", lambda: {each.name: informer_summary(each) for each in informers()})
        self.explain_with(explain)

    # Showing it

    def report(self) -> dict[str, Any]:
        """Return everything, as values of JSON."""
        with self._lock:
            sections = {name: list(parts) for name, parts in self._sections.items()}
        report: dict[str, Any] = {}
        for name, parts in sections.items():
            section = report[name] = {}
            for number, part in enumerate(parts):
                try:
                    section |= _plain(part())
                except Exception as error:  # noqa: BLE001 - shown, and the rest is too
                    section[f"part {number + 1} failed"] = _plain(error)
        report["threads"] = thread_stacks()
        return report

    def explain(self, key: str) -> list[str]:
        """Return what is known of a key. Raises ``ValueError`` for what is no key."""
        with self._lock:
            explainers = list(self._explainers)
        return [line for explain in explainers for line in explain(key)]

    def respond(self, request: Request) -> Response:
        """Return the page, or with a key below its path what is known of that key.

        As text, or as JSON for a request that accepts only that.
        """
        as_json = request.headers.get("accept", "").startswith(_JSON)
        if not request.rest:
            report = self.report()
            text = _page(_lines(report))
            return _json(report) if as_json else Response(200, text.encode())
        try:
            found = self.explain(request.rest)
        except ValueError as error:
            return Response(400, _page([str(error)]).encode())
        return _json(found) if as_json else Response(200, _page(found).encode())


def informer_summary(informer: InspectedInformer) -> dict[str, Any]:
    """Return how an informer and its reflector are doing, in a few values."""
    statistics = informer.statistics()
    reflector, queue = statistics.reflector, statistics.queue
    summary: dict[str, Any] = {
        "synced": statistics.synced,
        "stopped": statistics.stopped,
        "objects": statistics.store.objects,
        "pending": 0 if queue is None else queue.pending + queue.in_flight,
        "backlog": sum(handler.backlog for handler in statistics.handlers),
        "quarantined": statistics.quarantined,
    }
    if reflector is None:
        return summary | {"reflector": "not started"}
    return summary | {
        "reflector": {
            "state": reflector.state,
            "watching": reflector.is_watching,
            "version": reflector.resource_version,
            "seconds_since_heard": reflector.seconds_since_heard,
            "last_error": reflector.last_error,
            "seconds_since_error": reflector.seconds_since_error,
        }
    }


def _page(lines: Iterable[str]) -> str:
    """Lines of text; what is in one, as an error of a server, begins no other."""
    return "".join(f"{escaped(line)}\n" for line in lines)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_text, str_keys=True)


def _text(value: object) -> str:
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)


def _json(value: Any) -> Response:
    return Response(200, msgspec.json.encode(value), _JSON)


def _lines(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Lay out nested values: one line for what fits on it."""
    for name, each in value.items():
        line = f"{indent}{name}: {_inline(each)}"
        if not isinstance(each, Mapping | list) or (indent and len(line) <= _LONGEST_LINE):
            yield line
            continue
        yield f"{indent}{name}:"
        if isinstance(each, Mapping):
            yield from _lines(each, indent + "  ")
        else:
            yield from (f"{indent}  {_inline(item)}" for item in each)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_inline(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_inline, value))
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
