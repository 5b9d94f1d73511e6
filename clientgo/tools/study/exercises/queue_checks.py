"""The checks of exercises about the queue, its workers, and who may work."""

from __future__ import annotations

import threading
from typing import Any, Final

from clientgo.leaderelection import Leadership, LeadershipLostError
from clientgo.meta import ObjectName
from clientgo.observe.trace import Recorder, tracing
from clientgo.testing import FakeClock
from clientgo.tools.study.exercises.exercise import Finding, Outcome, asked, predicted
from clientgo.tools.study.exercises.lab import MOST_SYNCS, TIMEOUT, foo, lab
from clientgo.util.process import SupervisedThread
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    Queue,
    RateLimitingQueue,
    run_workers,
)

KEY: Final = "default/a"
EDITS: Final = 10


class _GaveUpError(BaseException):
    """The learner's worker goes round in a circle."""


def ten_edits(module: Any) -> Outcome:
    """Ten edits arrive while the first sync of the key runs."""
    syncs = predicted(module, "SYNCS")
    changed = predicted(module, "ADDS_THAT_CHANGED_SOMETHING")
    edited, stop = threading.Event(), threading.Event()
    with lab() as it:

        def enqueue(obj: Any) -> None:
            it.queue.add(ObjectName.of(obj))

        def sync(_key: object) -> None:
            edited.wait(TIMEOUT)

        it.informer.add_event_handler(on_add=enqueue, on_update=lambda _, new: enqueue(new))
        worker = SupervisedThread.started(
            run_workers, args=(stop, it.queue, sync), name="workers", then="no key is synced"
        )
        with it.running():
            it.source.add(foo("a", replicas=0))
            it.saw(lambda hop: hop.hop == "sync.start")
            for replicas in range(1, EDITS + 1):
                last = it.source.update(foo("a", replicas=replicas)).metadata.resource_version
            call = it.recorder.wait_for(
                lambda hop: hop.hop == "handler.call" and hop.version == last, TIMEOUT
            )
            it.recorder.wait_for(lambda hop: hop.hop == "queue.add", TIMEOUT, after=call.n)
            edited.set()
            it.saw(lambda hop: hop.hop == "queue.done" and not hop.details["again"])
        stop.set()
        worker.join()
        hops = it.recorder.hops(key=KEY)
    seen = [hop for hop in hops if hop.hop == "sync.start"]
    adds = [hop for hop in hops if hop.hop == "queue.add" and hop.details["outcome"] != "known"]
    return Outcome(
        [
            Finding("your SYNCS", syncs, len(seen)),
            Finding("your ADDS_THAT_CHANGED_SOMETHING", changed, len(adds)),
        ],
        [hop for hop in hops if hop.hop.startswith(("handler.", "queue.", "sync."))],
    )


def forgotten_done(module: Any) -> Outcome:
    """A key is added again while it is synced, and then another."""
    work = asked(module, "work")
    recorder = Recorder()
    synced: list[str] = []
    with tracing(recorder) as trace:
        queue: Queue[str] = Queue(name="foos")

        def sync(key: str) -> None:
            synced.append(key)
            if synced == ["default/a"]:
                queue.add("default/a")  # an edit while it is processed
            if key == "default/b":
                queue.shut_down()  # what is listed is still given out
            if len(synced) > MOST_SYNCS:
                raise _GaveUpError

        queue.add("default/a")
        queue.add("default/b")
        try:
            work(queue, sync)
        except _GaveUpError:
            pass
        except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
            synced.append(f"your work has raised {error!r}")
        trace.flush(TIMEOUT)
        left = queue.statistics().processing
    hops = recorder.hops()
    taken = [hop.key for hop in hops if hop.hop == "queue.get"]
    given_back = [hop.key for hop in hops if hop.hop == "queue.done"]
    return Outcome(
        [
            Finding(
                "the syncs: the edit leads to another one",
                ["default/a", "default/b", "default/a"],
                synced,
            ),
            Finding("each key that is taken is given back", taken, given_back),
            Finding("keys that the queue believes to be processed at the end", 0, left),
        ],
        hops,
    )


def poison_key(module: Any) -> Outcome:
    """One key fails four times; another one is fine; there is one worker."""
    process, delays = asked(module, "process"), predicted(module, "DELAYS")
    recorder, clock = Recorder(), FakeClock()
    synced: list[str] = []
    attempts = 0

    def sync(key: str) -> None:
        nonlocal attempts
        if key == "default/poison":
            attempts += 1
            if attempts > MOST_SYNCS or (attempts > 5 and not synced):
                raise _GaveUpError
            if attempts <= 4:
                raise ValueError("the spec cannot be read")
        synced.append(key)

    with tracing(recorder) as trace:
        queue: RateLimitingQueue[str] = RateLimitingQueue(
            ItemExponentialFailureRateLimiter(0.005, 1000.0), name="foos", clock=clock
        )
        queue.add("default/poison")
        queue.add("default/good")
        try:
            _one_worker(queue, clock, lambda key: process(queue, key, sync))
        except _GaveUpError:
            synced.append("(the worker was busy with default/poison)")
        except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
            synced.append(f"your process has raised {error!r}")
        queue.shut_down()
        trace.flush(TIMEOUT)
    waited = [round(hop.details["delay"], 6) for hop in recorder.hops("queue.add_rate_limited")]
    return Outcome(
        [
            Finding(
                "default/good does not wait for default/poison",
                ["default/good", "default/poison"],
                synced,
            ),
            Finding("default/poison gets a back-off after each failure", 4, len(waited)),
            Finding("your DELAYS", delays, waited),
            Finding(
                "its failures are forgotten when it has succeeded",
                0,
                queue.num_requeues("default/poison"),
            ),
        ],
        recorder.hops(),
    )


def _one_worker(queue: RateLimitingQueue[str], clock: FakeClock, process: Any) -> None:
    for _ in range(MOST_SYNCS):
        statistics = queue.statistics()
        if not statistics.ready:
            if statistics.next_due is None:
                return
            clock.step(statistics.next_due - clock.monotonic())
        key, _ = queue.get()
        try:
            with queue.syncing(key):
                process(key)
        finally:
            queue.done(key)


def two_leaders(module: Any) -> Outcome:
    """The first leader is suspended for a minute in a sync; meanwhile another one is elected."""
    lead = asked(module, "lead")
    recorder, clock = Recorder(), FakeClock()
    writes: list[str] = []
    with tracing(recorder) as trace:
        old = Leadership("old", 1, clock.monotonic() + 15.0, clock)
        new = Leadership("new", 2, clock.monotonic() + 100.0, clock)
        queues = {name: RateLimitingQueue[str](name=name) for name in ("old", "new")}

        def sync_of_new(key: str) -> None:
            writes.append(f"new writes {key}")
            new.stop.set()

        def sync_of_old(key: str) -> None:
            writes.append(f"old writes {key}")
            if key == "default/a":
                clock.step(60.0)  # suspended; the thread that renews the lease is suspended too
                queues["new"].add("default/b")
                lead(new, queues["new"], sync_of_new)
            else:
                old.stop.set()  # its renewing thread has noticed at last

        queues["old"].add("default/a")
        queues["old"].add("default/b")
        ended = _ended(lambda: lead(old, queues["old"], sync_of_old))
        trace.flush(TIMEOUT)
    return Outcome(
        [
            Finding(
                "the writes: the old leader makes none after the new one",
                ["old writes default/a", "new writes default/b"],
                writes,
            ),
            Finding("the old leader's work ends by", LeadershipLostError.__name__, ended),
        ],
        recorder.hops(),
    )


def _ended(work: Any) -> str:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return type(error).__name__
    return "a normal return"
