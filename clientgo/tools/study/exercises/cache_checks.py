"""The checks of exercises about handlers, caches and what happens before the queue."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from clientgo.cache import (
    CacheMutatedError,
    DeletedFinalStateUnknown,
    DeltaFIFO,
    Indexer,
    MutationDetector,
    Queue,
    RealFIFO,
    SharedIndexInformer,
)
from clientgo.meta import ObjectName
from clientgo.observe.trace import Hop, Recorder, tracing
from clientgo.tools.study.exercises.exercise import Finding, Outcome, asked, predicted
from clientgo.tools.study.exercises.lab import Foo, Lab, RefusedError, foo, lab

KEY: Final = "default/a"

_ENTRY: Final = re.compile("[abc]:( (Added|Updated|Deleted))+")


def act_in_the_handler(module: Any) -> Outcome:
    """A write is refused once; only a key in the queue is tried again."""
    connect, sync = asked(module, "connect"), asked(module, "sync")
    with lab() as it:
        connect(it)
        with it.running():
            it.refused = 1
            it.source.add(foo("b", replicas=1))
            it.source.add(foo("a", replicas=3))
            was_called = it.called(KEY, "add")
            it.source.update(foo("a", replicas=4))
            it.called(KEY, "update")
        calls = it.recorder.hops("handler.call", key=KEY)
        updated = it.recorder.hops("queue.add", key=KEY, after=calls[-1].n if calls else 0)
        written_before, it.refused = it.writes, 1
        it.informer.indexer.update(foo("a", replicas=5))  # newer than what a handler has seen
        it.drain(lambda key: sync(it, key))
        bugs = [repr(error) for error in it.failures if not isinstance(error, RefusedError)]
        findings = [
            Finding("a handler is called for the new Foo", True, was_called,
                    "Call lab.informer.add_event_handler in connect."),
            Finding("no handler raises", [], it.handler_errors(),
                    "on_add gets the object, on_update the old and the new one. A handler that "
                    "only enqueues the key has nothing that can fail."),
            Finding("writes by handlers", 0, written_before,
                    "A handler that writes has no second try. It only enqueues the key."),
            Finding("the handler enqueues the key of an edited Foo", True, bool(updated),
                    "on_add and on_update call lab.queue.add(ObjectName.of(foo))."),
            Finding("no sync fails by itself", [], [*dict.fromkeys(bugs)],
                    "sync gets the ObjectName that a handler enqueued, and the lister finds "
                    "its Foo: lab.foos.namespace(key.namespace).get(key.name)."),
            Finding("the sync whose write was refused is tried again", True,
                    bool(it.recorder.hops("queue.add_rate_limited")),
                    "sync must raise what it cannot repair: the worker adds the key again, "
                    "and does other keys meanwhile."),
            Finding("in the end the replicas of the cache are written", {"a": 5, "b": 1},
                    dict(sorted(it.written.items())),
                    "sync writes what the lister has now for its key, not what an event had."),
        ]  # fmt: skip
    return Outcome(findings, it.recorder.hops(key=KEY))


def mutated_object(module: Any) -> Outcome:
    """The sync changes what the cache shares with everybody."""
    sync = asked(module, "sync")
    found: list[str] = []

    def report(error: CacheMutatedError) -> None:
        changed = [line for line in str(error).splitlines() if line[:2] in ("- ", "+ ")]
        found.append("; ".join(" ".join(line.split()) for line in changed))

    with lab() as it:
        it.informer.add_event_handler(on_add=id)
        with it.running():
            it.source.add(foo("b", replicas=7))
            it.source.add(foo("a", replicas=3))
            it.called(KEY, "add")
        detector = MutationDetector("Foo", on_mutation=report, clock=it.clock)
        for cached in it.informer.indexer.list():
            detector.add(cached)
        it.on_write = detector.check  # a change that is undone later was seen by other readers
        error = _raised(lambda: (sync(it, "a"), sync(it, "b")))
        detector.check()
        cached_now = {one.metadata.name: one.spec.replicas for one in it.foos.list()}
        findings = [
            Finding("the sync ends without an exception", "", error),
            Finding("it writes one replica more than the cache has", {"a": 4, "b": 8}, it.written,
                    "Read the Foo from the lister, and write its replicas plus one."),
            Finding("the mutation detector finds nothing", [], [*dict.fromkeys(found)],
                    "The object of a lister is shared, and so is its spec: copy.copy is not "
                    "enough. Change a deep copy, or no object at all."),
            Finding("the cache still has what the server said", {"a": 3, "b": 7},
                    dict(sorted(cached_now.items())),
                    "Only the informer writes into the cache."),
        ]  # fmt: skip
    return Outcome(findings, it.recorder.hops(key=KEY))


def missed_deletion(module: Any) -> Outcome:
    """A Foo is deleted while the watch is down, and the next list lacks it."""
    connect = asked(module, "connect")
    with lab() as it:
        it.source.add(foo("a"))
        connect(it)
        with it.running():
            if it.called(KEY, "add"):
                it.source.delete(foo("a"), unseen=True)
                it.source.expire_history()
                it.source.break_watches(OSError("the connection is cut"))
                it.called(KEY, "delete")
        calls = it.recorder.hops("handler.call", key=KEY)
        deletion = calls[-1] if calls else None
        after = deletion.n if deletion else 0
        added = [hop.key for hop in it.recorder.hops("queue.add", after=after)]
        keys = it.taken()
        errors = it.handler_errors()
        seen = _enqueued(it, foo("b"))
        stateless = _enqueued(it, DeletedFinalStateUnknown("other/c", None))
        findings = [
            Finding("on_delete is called with a tombstone", True,
                    deletion is not None and deletion.details.get("tombstone", False),
                    "Call lab.informer.add_event_handler in connect."),
            Finding("no handler raises", [], errors,
                    "A tombstone has no metadata: ask isinstance(foo, DeletedFinalStateUnknown)."),
            Finding("the key is enqueued after the deletion", [KEY], added,
                    "The sync must hear of it, to clean up. A tombstone names the object in key."),
            Finding("what is enqueued that is no ObjectName", [],
                    [key for key in keys if not isinstance(key, ObjectName)],
                    "sync expects an ObjectName; ObjectName.parse makes one of a text."),
            Finding("a deletion that the watch has seen enqueues", "default/b", seen,
                    "Then on_delete is called with the Foo itself."),
            Finding("a tombstone without a last state enqueues", "other/c", stateless,
                    "obj of a tombstone is the last known state, or None. Its key is always there: "
                    "ObjectName.parse(foo.key)."),
        ]  # fmt: skip
    return Outcome(findings, it.recorder.hops(key=KEY))


def _enqueued(it: Lab, deleted: Any) -> str:
    """Return which keys the handlers enqueue for a deletion, or what they raise."""
    for handler in it.informer.registered:
        if error := _raised(partial(handler.on_delete, deleted)):
            return error
    return ", ".join(map(str, it.taken()))


class _Counting:
    """An indexer that counts how often everything is listed."""

    def __init__(self, informer: SharedIndexInformer[Foo]) -> None:
        self.lists = 0
        self._indexer = informer.indexer

    def __getattr__(self, name: str) -> Any:
        if name in ("list", "list_keys"):
            self.lists += 1
        return getattr(self._indexer, name)


def own_index(module: Any) -> Outcome:
    """The Foos of a team, without looking at all Foos."""
    by_team, foos_of = asked(module, "by_team"), asked(module, "foos_of")
    alone: Indexer[Foo] = Indexer(indexers={"team": by_team})
    if error := _raised(lambda: alone.add(foo("a", team="red"))):
        return Outcome(
            [
                Finding("by_team says where the index finds a Foo", "", error,
                        "by_team returns a list of texts: here a list with the team, which is "
                        "foo.spec.team."),
            ]
        )  # fmt: skip
    with lab({"team": by_team}) as it:
        it.informer.add_event_handler(on_add=id, on_update=lambda _old, _new: None)
        indexer = _Counting(it.informer)
        with it.running():
            for name, team in (("b", "blue"), ("c", "red"), ("a", "red")):
                it.source.add(foo(name, team=team))
            it.called(KEY, "add")
            red = _names(foos_of, indexer, "red")
            it.source.update(foo("a", team="blue"))
            it.called(KEY, "update")
            blue, green = _names(foos_of, indexer, "blue"), _names(foos_of, indexer, "green")
        values = list(by_team(foo("a", team="red")))
        use = 'foos_of returns what indexer.by_index("team", team) finds.'
        about_values = f"by_team has returned {values} for a Foo of the team red. " + use
        findings = [
            Finding("the red Foos", ["a", "c"], red, about_values),
            Finding("the blue ones, after a has changed its team", ["a", "b"], blue, about_values),
            Finding("the green ones", [], green, "For a team without Foos the list is empty."),
            Finding("how often all objects were listed", 0, indexer.lists, use),
        ]
    return Outcome(findings, it.recorder.hops("index.update"))


def two_queues(module: Any) -> Outcome:
    """The same five changes through both queues."""
    predictions = {name: predicted(module, name) for name in ("DELTA_FIFO", "REAL_FIFO")}
    recorder = Recorder()
    with tracing(recorder):
        _fill(DeltaFIFO(name="DELTA_FIFO"))
        _fill(RealFIFO(name="REAL_FIFO"))
    findings = []
    for name, prediction in predictions.items():
        popped = [*map(_said, recorder.hops("fifo.pop", of=name))]
        findings.append(
            Finding(f"your {name}", prediction, popped, _about_order(prediction, popped))
        )
    return Outcome(findings, recorder.hops())


def _about_order(predicted: object, popped: list[str]) -> str:
    if not isinstance(predicted, list) or not all(_ENTRY.fullmatch(str(e)) for e in predicted):
        return 'Write a list of texts such as "a: Added" or "a: Added Updated".'
    keys = [entry[0] for entry in predicted]
    if len(popped) == 5:  # RealFIFO
        if any(entry.count(" ") > 1 for entry in predicted):
            return "RealFIFO puts no changes together: each is an entry."
        return "RealFIFO drops nothing, and keeps the order of arrival."
    if len(set(keys)) < len(keys):
        return "DeltaFIFO has one entry for each key, with all changes of the key that wait."
    if sorted(predicted) == sorted(popped):
        return "A key keeps the place of its first change."
    return "DeltaFIFO drops no change: an entry has all of its key, a deletion after an add too."


def _fill(queue: Queue) -> None:
    queue.add(_at("a", 1))
    queue.add(_at("b", 2))
    queue.update(_at("a", 3))
    queue.delete(_at("b", 4))
    queue.add(_at("c", 5))
    while queue.statistics().pending:
        queue.pop(lambda _deltas, _is_in_initial_list: None)


def _at(name: str, version: int) -> Foo:
    made = foo(name)
    made.metadata.resource_version = str(version)
    return made


def _said(hop: Hop) -> str:
    return f"{hop.key.removeprefix('default/')}: {' '.join(hop.details['deltas'])}"


def _raised(call: Any) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return repr(error)
    return ""


def _names(foos_of: Any, indexer: Any, team: str) -> object:
    """Return the names that the learner's function finds, or what it raises."""
    try:
        found = foos_of(indexer, team)
        if not isinstance(found, list):
            return f"{found!r}, which is no list"
        return sorted(one.metadata.name for one in found)
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return repr(error)
