"""The checks of exercises about handlers, caches and what happens before the queue."""

from __future__ import annotations

from typing import Any, Final

from clientgo.cache import (
    CacheMutatedError,
    DeltaFIFO,
    MutationDetector,
    Queue,
    RealFIFO,
    SharedIndexInformer,
)
from clientgo.observe.trace import Hop, Recorder, tracing
from clientgo.tools.study.exercises.exercise import (
    ExerciseError,
    Finding,
    Outcome,
    asked,
    predicted,
)
from clientgo.tools.study.exercises.lab import Foo, foo, lab

KEY: Final = "default/a"


def act_in_the_handler(module: Any) -> Outcome:
    """A write is refused once; only a key in the queue is tried again."""
    connect, sync = asked(module, "connect"), asked(module, "sync")
    with lab() as it:
        connect(it)
        with it.running():
            it.refused = 1
            it.source.add(foo("a", replicas=3))
            was_called = it.saw(_handled("add"))
        it.drain(lambda key: sync(it, key))
        hops = _of(it.recorder)
        findings = [
            Finding("a handler is called for the new Foo", True, was_called),
            Finding("the handler only enqueues: the first write is in a sync", True,
                    "sync.end" in hops),
            Finding("the sync that failed is tried again", True,
                    "queue.add_rate_limited" in hops),
            Finding("in the end the replicas are written", {"a": 3}, it.written),
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
            it.source.add(foo("a", replicas=3))
            it.saw(_handled("add"))
        detector = MutationDetector("Foo", on_mutation=report, clock=it.clock)
        for cached in it.informer.indexer.list():
            detector.add(cached)
        name = it.foos.list()[0].metadata.name
        error = _raised(lambda: sync(it, name))
        detector.check()
        findings = [
            Finding("the sync ends without an exception", "", error),
            Finding("it writes one replica more than the cache has", {"a": 4}, it.written),
            Finding("the mutation detector finds nothing", [], found),
            Finding("the cache still says 3", 3, it.foos.list()[0].spec.replicas),
        ]
    return Outcome(findings, it.recorder.hops(key=KEY))


def missed_deletion(module: Any) -> Outcome:
    """A Foo is deleted while the watch is down, and the next list lacks it."""
    connect = asked(module, "connect")
    with lab() as it:
        it.source.add(foo("a"))
        connect(it)
        with it.running():
            it.saw(_handled("add"))
            it.source.delete(foo("a"), unseen=True)
            it.source.expire_history()
            it.source.break_watches(OSError("the connection is cut"))
            it.saw(_handled("delete"))
        calls = [hop for hop in it.recorder.hops("handler.call") if hop.key == KEY]
        deletion = calls[-1] if calls else None
        errors = [repr(h.last_error) for h in it.informer.statistics().handlers if h.last_error]
        after = deletion.n if deletion else 0
        added = [hop.key for hop in it.recorder.hops("queue.add", after=after)]
        findings = [
            Finding("on_delete is called with a tombstone", True,
                    deletion is not None and deletion.details.get("tombstone", False)),
            Finding("no handler raises", [], errors),
            Finding("the key is enqueued after the deletion", [KEY], added),
        ]  # fmt: skip
    return Outcome(findings, it.recorder.hops(key=KEY))


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
    with lab({"team": by_team}) as it:
        it.informer.add_event_handler(on_add=id, on_update=lambda _old, _new: None)
        indexer = _Counting(it.informer)
        with it.running():
            for name, team in (("a", "red"), ("b", "blue"), ("c", "red")):
                it.source.add(foo(name, team=team))
            it.saw(lambda hop: hop.hop == "handler.call" and hop.key == "default/c")
            red = _names(foos_of, indexer, "red")
            it.source.update(foo("a", team="blue"))
            it.saw(_handled("update"))
            blue, green = _names(foos_of, indexer, "blue"), _names(foos_of, indexer, "green")
        findings = [
            Finding("the red Foos", ["a", "c"], red),
            Finding("the blue ones, after a has changed its team", ["a", "b"], blue),
            Finding("the green ones", [], green),
            Finding("how often all objects were listed", 0, indexer.lists),
        ]
    return Outcome(findings, it.recorder.hops("index.update"))


def two_queues(module: Any) -> Outcome:
    """The same five changes through both queues."""
    predictions = {name: predicted(module, name) for name in ("DELTA_FIFO", "REAL_FIFO")}
    recorder = Recorder()
    with tracing(recorder):
        _fill(DeltaFIFO(name="DELTA_FIFO"))
        _fill(RealFIFO(name="REAL_FIFO"))
    return Outcome(
        [
            Finding(f"your {name}", prediction, [*map(_said, recorder.hops("fifo.pop", of=name))])
            for name, prediction in predictions.items()
        ],
        recorder.hops(),
    )


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


def _handled(event: str) -> Any:
    wanted = ("handler.call", KEY, event)
    return lambda hop: (hop.hop, hop.key, hop.details.get("event")) == wanted


def _of(recorder: Recorder) -> set[str]:
    return {hop.hop for hop in recorder.hops(key=KEY)}


def _raised(call: Any) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return repr(error)
    return ""


def _names(foos_of: Any, indexer: Any, team: str) -> list[str]:
    try:
        return sorted(one.metadata.name for one in foos_of(indexer, team) or ())
    except Exception as error:
        raise ExerciseError(f"foos_of({team!r}) has raised {error!r}") from error
