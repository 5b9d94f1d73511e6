"""Why nothing happens for an object, or what does.

Promises that what keeps an object from being reconciled is named, in the order in which it has to
be solved: the cache, the cluster, leadership, the queue, then the object itself. Reads snapshots:
the next moment may differ. Does not know events that came before: which predicate stopped one is
asked with the object as it is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clientgo.meta import ObjectName, metadata_of
from clientgo.operator.cache.scope import EVERYWHERE
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.controller.sources import ControllerSources
from clientgo.operator.predicates import DEFAULT_FILTER
from clientgo.operator.runs import SELF_WAKES_WITHOUT_WAIT, TimerKind
from clientgo.operator.runs.explanation import RunExplanation

if TYPE_CHECKING:
    from clientgo.sharding import Ownership


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is so; ``code`` is for programs, ``text`` for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one controller knows of one object. As text it is a paragraph.

    Codes: ``not-synced``, ``kind``, ``namespace``, ``unknown``, ``narrowed``, ``not-leader``,
    ``not-started``, ``paused``, ``running``, ``ready``, ``debounce``, ``rate-limit``, ``failures``,
    ``self-wakes``, ``retry``, ``asked``, ``requeue``, ``safety``, ``exhausted``, ``error``,
    ``predicate``, ``filters``, ``generation``, ``deleting``, ``idle``, ``pending``.
    """

    controller: str
    key: ObjectName
    reasons: tuple[Reason, ...]

    def has(self, code: str) -> bool:
        """Return True if a reason has this code."""
        return any(reason.code == code for reason in self.reasons)

    def lines(self) -> list[str]:
        """Return the paragraph line by line; what an error says stays in its line."""
        return [f"{self.controller}: {self.key}", *(f"  {each.text}" for each in self.reasons)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


_TIMERS: Final = {
    TimerKind.RETRY: ("retry", "its last run failed; retry {attempt} follows in {wait}"),
    TimerKind.ASKED: ("asked", "its last run failed; it is tried again in {wait}"),
    TimerKind.REQUEUE: ("requeue", "a result or a source asked for the next run in {wait}"),
    TimerKind.SAFETY: ("safety", "without an event it runs in {wait} (max_interval)"),
}

_HOLDS: Final = {
    "debounce": "debounce: its events are gathered for {wait}",
    "failures": "back-off: runs for its events failed too often; the next one waits {wait}",
    "rate limit": "rate limit: the next run may begin in {wait}",
}


def explain(
    parts: ControllerParts,
    sources: ControllerSources,
    queue: RunExplanation,
    key: ObjectName,
    standby: str,
    ownership: Ownership[ObjectName] | None,
) -> Explanation:
    """See :meth:`Controller.explain`. ``standby`` says why this process does not lead."""
    obj = parts.cache.get(key)
    reasons = [*_of_cache(parts, sources, key, obj), *_of_process(queue, standby), *_of_run(queue)]
    if ownership is not None and not ownership.owns(key):
        shard = ownership.shard_of(key)
        reasons.append(Reason("shard", f"its shard, {shard}, is not owned by this process"))
    if obj is not None:
        reasons += _of_object(parts, sources, obj, queue)
    return Explanation(parts.controller, key, tuple(reasons))


def _of_cache(
    parts: ControllerParts, sources: ControllerSources, key: ObjectName, obj: Any
) -> Iterator[Reason]:
    primary, namespaces = parts.primary, sources.namespaces
    for source in sources.health():
        if not source.synced or source.trouble:
            why = source.trouble or "waiting for the first list"
            yield Reason("not-synced", f"the cache of source {source.name} is not synced: {why}")
    if bool(key.namespace) != primary.namespaced:
        form = "NAMESPACE/NAME" if primary.namespaced else "NAME"
        yield Reason("kind", f"a key of {primary.plural} is written {form}")
    elif key.namespace and namespaces != EVERYWHERE and key.namespace not in namespaces:
        watched = ", ".join(sorted(namespaces))
        yield Reason("namespace", f"namespace {key.namespace} is not watched, but {watched}")
    if obj is None:
        yield Reason("unknown", f"the cache of {primary.plural} has no such object")
        if limits := parts.cache.limits():
            yield Reason("narrowed", f"the cache has only {primary.plural} {limits}")


def _of_process(queue: RunExplanation, standby: str) -> Iterator[Reason]:
    if queue.paused:
        yield Reason("paused", "the controller is paused: no run begins")
    if queue.started:
        return
    if standby:
        yield Reason("not-leader", standby)
    else:
        yield Reason("not-started", "the workers have not been started")


def _of_run(queue: RunExplanation) -> Iterator[Reason]:
    if queue.running is not None:
        yield Reason("running", f"it has been running for {_length(queue.now - queue.running)}")
        if queue.pending:
            yield Reason("pending", "something has happened since: another run follows")
    elif queue.pending and not queue.holds:
        others = sorted(queue.elsewhere.items(), key=lambda item: item[1])
        busy = ", ".join(f"{key} for {_length(queue.now - at)}" for key, at in others[:5])
        why = "a worker is free" if queue.idle_workers else f"every worker is busy: {busy}"
        yield Reason("ready", f"it is ready to run; {why}")
    for what, until in queue.holds.items():
        text = _HOLDS[what].format(wait=_length(until - queue.now))
        yield Reason(what.replace(" ", "-"), text)
    if queue.running is None and not queue.pending and queue.due is not None and queue.timer:
        code, form = _TIMERS[queue.timer]
        wait = _length(max(queue.due - queue.now, 0.0))
        yield Reason(code, form.format(attempt=queue.attempt + 1, wait=wait))
    if queue.self_wakes >= SELF_WAKES_WITHOUT_WAIT:
        yield Reason("self-wakes", f"its last {queue.self_wakes} runs were for its own writes")
    if queue.exhausted:
        yield Reason("exhausted", "its retries are used up: no other follows")
    if queue.last_error is not None:
        error = queue.last_error
        yield Reason("error", f"its last run failed: {type(error).__name__}: {error}")


def _of_object(
    parts: ControllerParts, sources: ControllerSources, obj: Any, queue: RunExplanation
) -> Iterator[Reason]:
    metadata, config = metadata_of(obj), parts.config
    stopped_by = sources.stopped_by(obj)
    if not parts.selects(obj):
        stopped_by.append(f"labels={str(parts.selector)!r}")
    for name in stopped_by:
        yield Reason("predicate", f"its events are stopped by a predicate: {name}")
    if metadata.deletion_timestamp:
        left = ", ".join(metadata.finalizers) or "none"
        ours = any(name in metadata.finalizers for name in parts.finalizers)
        whose = "" if ours else "; none is of this controller"
        yield Reason("deleting", f"it is being deleted; its finalizers: {left}{whose}")
    if stopped_by or queue.running is not None or queue.pending or queue.last_error is not None:
        return
    if queue.known:
        yield Reason("idle", "its last run succeeded, and nothing has asked for another")
    else:
        yield Reason("idle", "nothing has asked for a run")
    if filters := [name for name in sources.predicates() if name != DEFAULT_FILTER]:
        yield Reason("filters", f"an event runs it only if it passes {' and '.join(filters)}")
    if metadata.generation and config.default_filter and config.generation_aware:
        what = "changes of status, labels and annotations"
        yield Reason("generation", f"{what} do not run it: they leave its generation as it is")


def _length(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
