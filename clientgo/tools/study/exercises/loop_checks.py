"""The checks of exercises about what starts a sync: caches, handlers, statuses and children."""

from __future__ import annotations

import threading
from typing import Any, Final

from clientgo.meta import ObjectName, get_controller_of, resource_of
from clientgo.tools.study.exercises.exercise import Finding, Outcome, asked, predicted
from clientgo.tools.study.exercises.lab import MOST_SYNCS, TIMEOUT, Foo, Lab, foo, lab
from clientgo.util.process import SupervisedThread

KEY: Final = "default/a"
MORE: Final = 10


def never_synced(module: Any) -> Outcome:
    """Children are pruned while the cache is empty because it is not filled, or for good."""
    prune = asked(module, "prune")
    with lab() as it:
        it.written.update({"a": 1, "b": 1})
        stop = threading.Event()
        stop.set()
        prune(it, stop)  # the program is stopped before the first list has come
        kept = sorted(it.written)
    filled, hops = _pruned(prune, ["a"])
    emptied, _ = _pruned(prune, [])
    return Outcome(
        [
            Finding("kept when the program stops before the cache has synced", ["a", "b"], kept,
                    "An empty cache that has not synced says nothing. Delete only if "
                    "wait_for_cache_sync(stop, lab.informer.has_synced) is true."),
            Finding("kept when the cache has synced and has the Foo a", ["a"], filled,
                    "Wait until the cache has synced, then delete what has no Foo."),
            Finding("kept when the cache has synced and has no Foo", [], emptied,
                    "A cache that has synced and is empty says that there is no Foo."),
        ],
        hops,
    )  # fmt: skip


def _pruned(prune: Any, names: list[str]) -> tuple[list[str], Any]:
    """Prune the children a and b while the first list comes; return what is left, and the hops."""
    with lab() as it:
        it.written.update({"a": 1, "b": 1})
        for name in names:
            it.source.add(foo(name))
        failures: list[Exception] = []

        def work() -> None:
            try:
                prune(it, threading.Event())
            except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
                failures.append(error)
            it.informer.was_asked.set()

        pruning = SupervisedThread.started(work, name="prune", then="nothing is pruned")
        it.informer.was_asked.wait(TIMEOUT)
        with it.running():
            pruning.join()
    if failures:
        raise failures[0]
    return sorted(it.written), it.recorder.hops()


def blocking_handler(module: Any) -> Outcome:
    """One of two handlers blocks in its first call, then ten more Foos are added."""
    names = ("IN_THE_CACHE", "CALLS_OF_THE_HANDLER_THAT_BLOCKS", "CALLS_OF_THE_OTHER_HANDLER")
    predictions = [predicted(module, name) for name in names]
    calls = [0, 0]
    is_blocked, release, last = threading.Event(), threading.Event(), threading.Event()
    with lab() as it:

        def block(_foo: Foo) -> None:
            calls[0] += 1
            is_blocked.set()
            release.wait(TIMEOUT)

        def count(_foo: Foo) -> None:
            calls[1] += 1
            if calls[1] == 1 + MORE:
                last.set()

        it.informer.add_event_handler(on_add=block)
        it.informer.add_event_handler(on_add=count)
        with it.running():
            it.source.add(foo("a"))
            is_blocked.wait(TIMEOUT)
            for number in range(MORE):
                it.source.add(foo(f"b{number}"))
            last.wait(TIMEOUT)
            happened = [len(it.informer.indexer.list()), calls[0], calls[1]]
            release.set()
    helps = (
        "The cache does not wait for handlers.",
        "A handler gets one event after the other: while it blocks, its events wait in memory.",
        "Each handler has a thread of its own, so one that blocks does not delay another.",
    )
    findings = [
        Finding(f"your {name}", expected, count_, help_ if _is_count(expected) else _NUMBER)
        for name, expected, count_, help_ in zip(names, predictions, happened, helps, strict=True)
    ]
    return Outcome(findings, it.recorder.hops("handler.call"))


_NUMBER: Final = "Write a number."


def _is_count(prediction: object) -> bool:
    return isinstance(prediction, int)


def status_loop(module: Any) -> Outcome:
    """Each write of a status that changes anything is an event, which adds the key again."""
    sync = asked(module, "sync")
    with lab() as it:
        it.informer.indexer.add(foo("a", replicas=3))
        first = _syncs(it, sync)
        cached = it.cached(KEY)
        it.update(Foo(metadata=cached.metadata, spec=foo("a", replicas=5).spec,
                      status=cached.status))  # fmt: skip
        second = _syncs(it, sync)
        status = it.cached(KEY).status
    loops = (
        "A value that differs each time makes each write an event, and each event a sync. Write "
        "only if something that matters has changed, or leave the time out."
    )
    errors = [*dict.fromkeys(map(repr, it.failures))]
    return Outcome(
        [
            Finding("no sync raises", [], errors),
            Finding("at most two syncs of the new Foo", True, first <= 2, loops),
            Finding("at most two more after an edit", True, second <= 2, loops),
            Finding("the status follows the spec", 5, status.replicas,
                    "Compare with the spec each time: an edit must reach the status."),
            Finding("the cache is not changed by the sync itself", [], it.damaged,
                    "The object of a lister is shared: change a deep_copy of it."),
        ],
        it.recorder.hops(key=KEY),
    )  # fmt: skip


def _syncs(it: Lab, sync: Any) -> int:
    count = 0

    def counted(key: ObjectName) -> None:
        nonlocal count
        count += 1
        cached = it.cached(str(key))
        before, version = repr(cached.status), cached.metadata.resource_version
        sync(it, key)
        if repr(cached.status) != before:
            it.damaged.append(f"status of {key} @{version}")

    it.queue.add(ObjectName.parse(KEY))
    it.drain(counted, most=MOST_SYNCS // 2)
    return count


def child_without_owner(module: Any) -> Outcome:
    """The child of a Foo names its owner, and an event of the child adds the owner's key."""
    child_of, owner_of = asked(module, "child_of"), asked(module, "owner_of")
    owner = foo("a")
    owner.metadata.uid = "uid-of-a"
    child = child_of(owner)
    reference = get_controller_of(child)
    kind = resource_of(Foo)
    with lab() as it:
        it.informer.add_event_handler(on_add=lambda obj: _add(it, owner_of(obj)))
        child.metadata.namespace = child.metadata.namespace or "default"
        with it.running():
            it.source.add(child)
            it.called(str(ObjectName.of(child)), "add")
        enqueued = [str(key) if isinstance(key, ObjectName) else repr(key) for key in it.taken()]
        raised = it.handler_errors()
    foreign = child_of(owner)
    foreign.metadata.owner_references = None
    strange = child_of(owner)
    for one in strange.metadata.owner_references or ():
        one.kind, one.name = "Bar", "z"
    return Outcome(
        [
            Finding("the child's controller", f"{kind.kind} a, uid-of-a",
                    f"{reference.kind} {reference.name}, {reference.uid}" if reference else "none",
                    "Set metadata.owner_references to (new_controller_ref(foo),): without a "
                    "reference that has controller and the uid, the garbage collector leaves the "
                    "child, and its events lead nowhere."),
            Finding("owner_of does not raise", [], raised,
                    "get_controller_of(child) is None or has kind and name."),
            Finding("an event of the child enqueues its owner", [KEY], enqueued,
                    "owner_of returns ObjectName(child.metadata.namespace, reference.name)."),
            Finding("the owner of a child without a reference", "None", _text(owner_of, foreign),
                    "get_controller_of(child) is None for it: return None."),
            Finding("the owner of a child of a Bar", "None", _text(owner_of, strange),
                    "Compare the kind of the reference: another controller's child is not yours."),
        ],
        it.recorder.hops(key=str(ObjectName.of(child))),
    )  # fmt: skip


def _add(it: Lab, key: Any) -> None:
    if key is not None:
        it.queue.add(key)


def _text(owner_of: Any, child: Foo) -> str:
    try:
        return str(owner_of(child))
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return repr(error)
