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
            Finding("your SYNCS", syncs, len(seen), _about_syncs(syncs)),
            Finding("your ADDS_THAT_CHANGED_SOMETHING", changed, len(adds), _about_adds(changed)),
        ],
        [hop for hop in hops if hop.hop.startswith(("handler.", "queue.", "sync."))],
    )


def _about_syncs(predicted: object) -> str:
    if not isinstance(predicted, int):
        return "Write a number."
    if predicted < 2:
        return "An edit during a sync is not lost: a key that is added meanwhile is synced again."
    return (
        "A key is in the queue at most once: all edits during a sync lead to one sync after it, "
        "which reads the newest state."
    )


def _about_adds(predicted: object) -> str:
    if not isinstance(predicted, int):
        return "Write a number."
    if predicted < 2:
        return (
            "Adding a key that is processed changes something: the queue marks it, to list it "
            "again when it is done."
        )
    return "An add of a key that is listed or marked already changes nothing."


class _LastQueue(Queue[str]):
    """A queue whose only worker adds its keys: it shuts down when it is empty.

    It notes what is given back, also what no worker has taken.
    """

    def __init__(self) -> None:
        super().__init__(name="foos")
        self.given_back: list[str] = []

    def get(self, *arguments: Any) -> Any:
        if not self.statistics().ready:
            self.shut_down()
        return super().get(*arguments)

    def done(self, item: str) -> None:
        self.given_back.append(item)
        super().done(item)


class _SyncError(Exception):
    """The sync of the exercise fails."""


def forgotten_done(module: Any) -> Outcome:
    """A key is added again while it is synced; another one fails; a third one is fine."""
    work = asked(module, "work")
    recorder = Recorder()
    synced: list[str] = []
    released: list[str] = []
    raised: list[str] = []
    with tracing(recorder) as trace:
        queue = _LastQueue()

        def sync(key: str) -> None:
            if key not in queue.processing_items():
                released.append(key)
            synced.append(key)
            if len(synced) > MOST_SYNCS:
                queue.shut_down()
            elif synced == ["default/a"]:
                queue.add("default/a")  # an edit while it is processed
            elif key == "default/b":
                raise _SyncError("the sync of default/b fails")

        for key in ("default/a", "default/b", "default/c"):
            queue.add(key)
        for _ in range(2):  # a worker that a failed sync has ended is started again
            try:
                work(queue, sync)
            except _SyncError:
                continue
            except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
                raised.append(repr(error))
            break
        trace.flush(TIMEOUT)
        left = sorted(queue.processing_items())
    hops = recorder.hops()
    taken = [hop.key for hop in hops if hop.hop == "queue.get"]
    return Outcome(
        [
            Finding("your work does not raise, unless the sync does", [], raised),
            Finding(
                "the syncs: the edit leads to another one",
                ["default/a", "default/b", "default/c", "default/a"],
                synced,
                _about_syncs_of(synced, left),
            ),
            Finding(
                "each key is processed while it is synced",
                [],
                released,
                "Call done after the sync: after done another worker may take the same key.",
            ),
            Finding(
                "each key that is taken is given back once",
                taken,
                queue.given_back,
                "The sync of default/b raises. Call done in a finally block, and only there."
                if left == ["default/b"] or len(queue.given_back) > len(taken)
                else "Call queue.done(key) for each key that queue.get returned.",
            ),
            Finding("keys that the queue believes to be processed at the end", [], left),
        ],
        hops,
    )


def _about_syncs_of(synced: list[str], left: list[str]) -> str:
    if left and synced.count("default/a") == 1:
        return "Without queue.done(key) the queue holds back a key that is added again."
    if not synced:
        return "Call sync(key) for each key."
    return "A worker goes on until get says that the queue shuts down, also after a failed sync."


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
        given_back: list[str] = []

        def handle(key: str) -> None:
            process(queue, key, sync)
            if not queue.statistics().processing:
                given_back.append(key)

        try:
            _one_worker(queue, clock, handle)
        except _GaveUpError:
            synced.append("(the worker was busy with default/poison)")
        except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
            synced.append(f"your process has raised {error!r}")
        queue.shut_down()
        trace.flush(TIMEOUT)
    limited = recorder.hops("queue.add_rate_limited")
    waited = [round(hop.details["delay"], 6) for hop in limited]
    return Outcome(
        [
            Finding(
                "default/good does not wait for default/poison, and both succeed",
                ["default/good", "default/poison"],
                synced,
                "After a failure add the key again and return: the worker takes the next key."
                if synced[:1] != ["default/good"]
                else "A key that fails must be added again, or it is never tried again.",
            ),
            Finding(
                "default/poison gets a back-off after each failure",
                ["default/poison"] * 4,
                [hop.key for hop in limited],
                "queue.add_rate_limited(key) waits longer after each failure. add does not wait, "
                "and add_after always waits as long as you say.",
            ),
            Finding("your DELAYS", delays, waited, _about_delays(delays, waited)),
            Finding(
                "keys that your process has given back itself",
                [],
                [*dict.fromkeys(given_back)],
                "queue.done is called around your function: a key that is given back earlier can "
                "be taken by another worker while you still process it.",
            ),
            Finding(
                "its failures are forgotten when it has succeeded",
                0,
                queue.num_requeues("default/poison"),
                "Call queue.forget(key) after a success: else its next failure waits 80 ms.",
            ),
        ],
        recorder.hops(),
    )


def _about_delays(predicted: object, waited: list[float]) -> str:
    if len(set(waited)) == 1 and len(waited) > 1:
        return "The delay does not grow: call queue.forget(key) only after a success."
    if not isinstance(predicted, list) or len(predicted) != 4:
        return "Write a list of four numbers, one for each failure."
    if 5 in predicted:
        return "DELAYS are seconds: 5 ms is 0.005."
    return "Each delay is twice the one before."


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


class _LastKey(ItemExponentialFailureRateLimiter[str]):
    """Ends the workers of the old leader when a key fails, or when its last one has succeeded."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__(0.005, 1000.0)
        self.failed: list[str] = []
        self._stop = stop

    def when(self, item: str) -> float:
        self.failed.append(item)
        self._stop.set()
        return super().when(item)

    def forget(self, item: str) -> None:
        if item == "default/b":
            self._stop.set()
        super().forget(item)


def two_leaders(module: Any) -> Outcome:
    """The first leader is suspended for a minute in a sync; meanwhile another one is elected."""
    lead = asked(module, "lead")
    recorder, clock = Recorder(), FakeClock()
    writes: list[str] = []
    with tracing(recorder) as trace:
        old = Leadership("old", 1, clock.monotonic() + 15.0, clock)
        new = Leadership("new", 2, clock.monotonic() + 100.0, clock)
        last_key = _LastKey(old.stop)
        queue_of_old = RateLimitingQueue[str](last_key, name="old")
        queue_of_new = RateLimitingQueue[str](name="new")

        def sync_of_new(key: str) -> None:
            writes.append(f"new writes {key}")
            new.stop.set()

        def sync_of_old(key: str) -> None:
            writes.append(f"old writes {key}")
            if key == "default/a":
                clock.step(60.0)  # suspended; the thread that renews the lease is suspended too
                queue_of_new.add("default/b")
                lead(new, queue_of_new, sync_of_new)
            else:
                old.stop.set()  # its renewing thread has noticed at last

        queue_of_old.add("default/a")
        queue_of_old.add("default/b")
        ended = _ended(lambda: lead(old, queue_of_old, sync_of_old))
        trace.flush(TIMEOUT)
    return Outcome(
        [
            Finding(
                "the writes: the old leader makes none after the new one",
                ["old writes default/a", "new writes default/b"],
                writes,
                "Call leadership.check before each key. leadership.stop is not set yet, and a "
                "check before the first key is long ago."
                if writes
                else "lead must run the workers.",
            ),
            Finding(
                "the old leader's work ends by",
                LeadershipLostError.__name__,
                ended,
                "An error in a sync is a failed key, which the workers try again. An error in the "
                "guard ends them: run_workers(..., guard=leadership.check)."
                if last_key.failed
                else "Pass leadership.check itself as the guard, and let its error end the work.",
            ),
        ],
        recorder.hops(),
    )


def _ended(work: Any) -> str:
    try:
        work()
    except LeadershipLostError as error:
        return type(error).__name__
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything
        return repr(error)
    return "a normal return"
