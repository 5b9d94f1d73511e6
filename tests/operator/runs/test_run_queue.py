"""The engine of a controller: which object runs next, and when."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.meta import ObjectName
from clientgo.operator import RateLimit, retry
from clientgo.operator.errors import AlreadyStartedError, ConfigError
from clientgo.operator.runs import FailedRun, Run, RunQueue, RunSettings
from clientgo.operator.runs.past_failures import EVENT_FAILURES_WITHOUT_WAIT
from clientgo.sharding import Ownership
from clientgo.testing import FakeClock

START = 100.0
LOW = -100
A, B = ObjectName("default", "a"), ObjectName("default", "b")

Answer = Callable[[Run], object]


class Engine:
    """A run queue on a fake clock; ``answer`` ends each run, and ``runs`` has instant and name."""

    def __init__(self, answer: Answer | None = None, fair_by: Any = None, **settings: Any) -> None:
        self.clock = FakeClock(start=START)
        self.runs: list[tuple[float, str]] = []
        self.priorities: list[int] = []
        self._answer = answer or (lambda run: run.succeeded())
        settings.setdefault("retry", retry.generic())
        self.queue = RunQueue("test", RunSettings(**settings), fair_by=fair_by, clock=self.clock)

    def start(self, workers: int = 1) -> Engine:
        self.queue.start(self._work, workers)
        return self

    def settle(self) -> None:
        """Block until nothing more happens unless time goes on."""
        self.clock.wait_for(self.at_rest)

    def at_rest(self) -> bool:
        statistics = self.queue.statistics()
        next_due, next_wait = statistics.next_due, self.clock.next_deadline()
        timers_wait = next_due is None or (next_wait is not None and next_wait <= next_due)
        return timers_wait and statistics.ready == statistics.running == 0

    def run_for(self, seconds: float) -> None:
        self.clock.run_for(seconds, self.at_rest)

    def instants(self, name: str = "a") -> list[float]:
        """When an object ran, in seconds since the start."""
        return [round(when - START, 6) for when, who in self.runs if who == name]

    def _work(self, run: Run) -> None:
        self.runs.append((self.clock.monotonic(), run.key.name))
        self.priorities.append(run.priority)
        self._answer(run)


@pytest.fixture
def engine() -> Iterator[Callable[..., Engine]]:
    """Makes engines that end with the test."""
    engines: list[Engine] = []

    def make(answer: Answer | None = None, **settings: Any) -> Engine:
        engines.append(Engine(answer, **settings))
        return engines[-1]

    yield make
    for made in engines:
        made.queue.stop()


def fail(run: Run) -> None:
    run.failed(FailedRun(ValueError("no")))


def test_what_is_triggered_twice_before_it_runs_runs_once(engine: Callable[..., Engine]) -> None:
    """OP-QUE-01: one entry for each key, with the higher of the priorities."""
    queue = engine()
    queue.queue.trigger(A, LOW)
    queue.queue.trigger(A, 5)
    queue.start().settle()
    assert (len(queue.runs), queue.priorities) == (1, [5])


def test_the_important_comes_first_and_equals_in_their_order(
    engine: Callable[..., Engine],
) -> None:
    """OP-QUE-02: highest priority first, then first come first served."""
    queue = engine()
    for name, priority in (("low", LOW), ("first", 0), ("second", 0), ("high", 10)):
        queue.queue.trigger(ObjectName("", name), priority)
    queue.start().settle()
    assert [name for _, name in queue.runs] == ["high", "first", "second", "low"]


def test_waiting_counts_so_that_nothing_starves(engine: Callable[..., Engine]) -> None:
    """OP-QUE-04: a minute of waiting is worth a hundred levels of priority; nine of ten turns are
    for what is no background work all the same."""
    go_on = threading.Event()

    def wait(run: Run) -> None:
        assert go_on.wait(30)
        run.succeeded()

    queue = engine(wait)
    queue.queue.trigger(A)
    queue.start()
    queue.clock.wait_for(lambda: queue.queue.statistics().running == 1)
    queue.queue.trigger(ObjectName("", "patient"), LOW)
    queue.queue.trigger(ObjectName("", "important"), 10)
    queue.clock.step(61)
    for number in range(10):
        queue.queue.trigger(ObjectName("", f"late {number}"), 0)
    go_on.set()
    queue.settle()
    late = [f"late {number}" for number in range(10)]
    names = [name for _, name in queue.runs]
    assert names == [A.name, "important", *late[:8], "patient", *late[8:]]


def test_what_changed_shortly_before_the_start_comes_before_what_has_waited_long(
    engine: Callable[..., Engine],
) -> None:
    """OP-CTL-06: the newest first, and all of it after what happens from the start on."""
    queue = engine()
    for name, wait in (("old", 100.0), ("recent", 10.0), ("newer", 1.0), ("newest", 0.0)):
        queue.queue.trigger(ObjectName("", name), LOW)
        queue.queue.note_change(ObjectName("", name))
        queue.clock.step(wait)
    for name in ("listed", "gone"):
        queue.queue.trigger(ObjectName("", name), LOW)
    queue.queue.note_change(ObjectName("", "gone"))
    queue.queue.forget_if(lambda key: key.name == "gone")
    queue.queue.trigger(ObjectName("", "edited"), 0)
    queue.start().settle()
    assert [name for _, name in queue.runs] == [
        "edited",
        "newest",
        "newer",
        "recent",
        "old",
        "listed",
    ]


def test_what_is_gone_before_the_start_is_forgotten(engine: Callable[..., Engine]) -> None:
    """OP-CTL-06: a standby of weeks keeps nothing of the objects that came and went."""
    queue = engine()
    for number in range(1000):
        key = ObjectName("", f"job-{number}")
        queue.queue.trigger(key, LOW)
        queue.queue.note_change(key)
        queue.queue.trigger(key, LOW, after=30)
        queue.queue.forget(key)
    queue.queue.trigger(A)
    assert (queue.queue.statistics().known, queue.queue.statistics().ready) == (1, 1)
    assert queue.queue.depths() == {0: 1}
    assert not queue.queue._changed
    assert len(queue.queue._queue) == 0
    queue.start().settle()
    assert [name for _, name in queue.runs] == [A.name]


def test_what_is_held_waits_and_the_rest_goes_on(engine: Callable[..., Engine]) -> None:
    """OP-NS-05: each runs once when it is not held any more, in the order of priorities."""
    queue = engine().start()
    queue.queue.hold(lambda key: key.name != "free")
    for name in ("low", "first", "free", "first"):
        queue.queue.trigger(ObjectName("", name), LOW if name == "low" else 0)
    queue.settle()
    assert [name for _, name in queue.runs] == ["free"]
    assert queue.queue.explain(ObjectName("", "low")).paused
    assert not queue.queue.explain(ObjectName("", "free")).paused
    queue.queue.hold(None)
    queue.settle()
    assert [name for _, name in queue.runs] == ["free", "first", "low"]


def test_what_is_held_and_paused_waits_for_both(engine: Callable[..., Engine]) -> None:
    """OP-CTL-10"""
    queue = engine().start()
    queue.queue.pause()
    queue.queue.hold(lambda _key: True)
    queue.queue.trigger(A)
    queue.queue.hold(None)
    queue.settle()
    assert queue.runs == []
    queue.queue.resume()
    queue.settle()
    assert len(queue.runs) == 1


def test_a_failure_keeps_the_priority(engine: Callable[..., Engine]) -> None:
    """OP-QUE-05"""
    queue = engine(fail).start()
    queue.queue.trigger(A, 7)
    queue.run_for(5)
    assert queue.priorities == [7, 7, 7]


def test_a_result_gives_the_next_run_another_priority(engine: Callable[..., Engine]) -> None:
    """OP-QUE-03: without one the requeue keeps the run's own, and a safety run waits its turn."""
    answers = iter([(1.0, 9), (1.0, None), (None, None)])

    def answer(run: Run) -> None:
        delay, priority = next(answers, (None, None))
        run.succeeded(delay, priority)

    queue = engine(answer, max_interval=50.0).start()
    queue.queue.trigger(A, 3)
    queue.run_for(60)
    assert queue.priorities == [3, 9, 9, LOW]


def test_an_event_ends_a_timer_and_the_run_sets_a_new_one(engine: Callable[..., Engine]) -> None:
    """OP-RES-05: one timer for each object; no run comes from one that was replaced."""
    queue = engine(lambda run: run.succeeded(10.0)).start()
    queue.queue.trigger(A)
    queue.run_for(6)
    queue.queue.trigger(A)
    queue.run_for(20)
    assert queue.instants() == [0, 6, 16, 26]


def test_a_delayed_trigger_survives_that_the_object_is_forgotten_first(
    engine: Callable[..., Engine],
) -> None:
    """OP-QUE-06, OP-RTY-24: what is forgotten never runs; what is asked for afterwards does."""
    queue = engine().start()
    queue.queue.trigger(A, after=5)
    queue.queue.forget(A)
    assert queue.queue.statistics().waiting == 0
    queue.queue.trigger(A, after=7)
    queue.run_for(20)
    assert queue.instants() == [7]


def test_two_of_a_kind_run_at_a_time_and_never_the_same(engine: Callable[..., Engine]) -> None:
    """OP-CTL-02: different objects beside each other, one object never in two threads."""
    both, in_hand, most = threading.Barrier(2, timeout=30), [], []

    def work(run: Run) -> None:
        in_hand.append(run.key)
        most.append(in_hand.count(run.key))
        if len(most) <= 2:
            both.wait()
            queue.queue.trigger(run.key)
        in_hand.remove(run.key)
        run.succeeded()

    queue = engine(work).start(workers=4)
    queue.queue.trigger(A)
    queue.queue.trigger(B)
    queue.settle()
    assert (len(queue.runs), max(most)) == (4, 1)


def test_a_pause_keeps_what_happens_meanwhile(engine: Callable[..., Engine]) -> None:
    """OP-CTL-10: triggers are merged, nothing runs; afterwards each object runs once."""
    queue = engine().start()
    queue.queue.pause()
    for _ in range(3):
        queue.queue.trigger(A)
        queue.queue.trigger(B)
    queue.queue.trigger(A, after=1)
    queue.run_for(2)
    assert (queue.runs, queue.queue.statistics().paused) == ([], True)
    queue.queue.resume()
    queue.settle()
    assert sorted(name for _, name in queue.runs) == ["a", "b"]


def test_workers_have_the_context_of_whoever_started_them(engine: Callable[..., Engine]) -> None:
    """OP-CTL-11: what tracing keeps in context variables; each worker has a copy."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    seen = []

    def work(run: Run) -> None:
        seen.append(variable.get("nothing"))
        variable.set("changed")
        run.succeeded()

    variable.set("given")
    queue = engine(work).start()
    queue.queue.trigger(A)
    queue.settle()
    assert (seen, variable.get()) == (["given"], "given")


def test_a_stop_begins_nothing_and_waits_for_what_is_in_hand(
    engine: Callable[..., Engine],
) -> None:
    """OP-CTL-08: what is ready or delayed is dropped; what runs is told so and awaited."""
    begun = threading.Event()

    def work(run: Run) -> None:
        begun.set()
        assert queue.queue.cancelled.wait(30)
        ended.append(run.key)

    ended: list[ObjectName] = []
    queue = engine(work).start()
    queue.queue.trigger(A)
    queue.queue.trigger(B)
    queue.queue.trigger(ObjectName("", "c"), after=1)
    assert begun.wait(30)
    assert queue.queue.stop() == []
    assert ended == [A]
    assert queue.queue.statistics().waiting == 0


def test_workers_start_once(engine: Callable[..., Engine]) -> None:
    queue = engine().start()
    with pytest.raises(AlreadyStartedError):
        queue.queue.start(print, 1)


def test_no_object_runs_more_often_than_its_limit_allows(engine: Callable[..., Engine]) -> None:
    """OP-RL-01, OP-RL-02: in no stretch of ten seconds more than three times."""
    queue = engine(rate_limit=RateLimit(3, 10.0)).start()
    for _ in range(40):
        queue.queue.trigger(A)
        queue.run_for(1)
    instants = queue.instants()
    assert instants[:4] == [0, 1, 2, 10], "the fourth waited for the first to be ten seconds old"
    assert all(later - sooner >= 10 for sooner, later in zip(instants, instants[3:], strict=False))


def test_without_a_limit_every_event_runs(engine: Callable[..., Engine]) -> None:
    """OP-RL-01: off unless asked for."""
    queue = engine().start()
    for _ in range(40):
        queue.queue.trigger(A)
        queue.settle()
    assert len(queue.runs) == 40


def test_a_limit_comes_before_retries_and_timers(engine: Callable[..., Engine]) -> None:
    """OP-RL-03: a retry that is due waits like an event; the wait uses up no attempt."""
    attempts = []

    def note(run: Run) -> None:
        attempts.append(run.identify("").attempt)
        fail(run)

    queue = engine(note, rate_limit=RateLimit(1, 10.0)).start()
    queue.queue.trigger(A)
    queue.run_for(35)
    assert queue.instants() == [0, 10, 20, 30]
    assert attempts == [0, 1, 2, 3]


def test_a_limit_holds_one_object_and_no_other(engine: Callable[..., Engine]) -> None:
    """OP-RL-01: it is for each object."""
    queue = engine(rate_limit=RateLimit(1, 10.0)).start()
    for _ in range(2):
        queue.queue.trigger(A)
        queue.settle()
    queue.queue.trigger(B)
    queue.run_for(1)
    assert (queue.instants("a"), queue.instants("b")) == ([0], [0])


def test_a_pending_run_does_not_wait_for_the_failures_of_a_forgotten_object(
    engine: Callable[..., Engine],
) -> None:
    """OP-RTY-24: an object of the same name that was created meanwhile starts from zero."""
    queue = engine(fail, retry=retry.generic(initial=3600.0, max_interval=3600.0)).start()
    for _ in range(EVENT_FAILURES_WITHOUT_WAIT + 1):
        queue.queue.trigger(A)
        queue.settle()
    assert len(queue.runs) == EVENT_FAILURES_WITHOUT_WAIT, "the last trigger waits for the retry"

    queue.queue.forget(A)
    queue.queue.trigger(A)
    queue.settle()

    assert len(queue.runs) == EVENT_FAILURES_WITHOUT_WAIT + 1


def test_what_a_limit_holds_is_not_lost_when_the_object_is_forgotten(
    engine: Callable[..., Engine],
) -> None:
    """OP-RL-03: there may be another object of the name by then."""
    queue = engine(rate_limit=RateLimit(1, 10.0)).start()
    for _ in range(2):
        queue.queue.trigger(A)
        queue.settle()
    queue.queue.forget(A)
    queue.run_for(10)
    assert queue.instants() == [0, 10]


def test_events_that_come_close_together_are_one_run(engine: Callable[..., Engine]) -> None:
    """OP-RL-04: those within the debounce of the first; during a run, too."""
    queue = engine(rate_limit=RateLimit(100, 10.0, debounce=2.0)).start()
    for _ in range(5):
        queue.queue.trigger(A)
        queue.run_for(0.5)
    queue.run_for(10)
    assert queue.instants() == [2, 4]


@pytest.mark.parametrize("limit", [RateLimit(0), RateLimit(1, 0), RateLimit(1, 1, -1)])
def test_a_limit_that_makes_no_sense_is_refused(limit: RateLimit) -> None:
    """OP-RL-01"""
    with pytest.raises(ConfigError):
        limit.checked()


def test_objects_of_other_processes_do_not_run() -> None:
    clock, ran = FakeClock(start=START), []
    ownership: Ownership[ObjectName] = Ownership(8, clock=clock)
    ownership.renewed(START + 100)
    ours, theirs = ObjectName("default", "a"), ObjectName("default", "b")
    shards = {key: ownership.shard_of(key) for key in (ours, theirs)}
    assert shards[ours] != shards[theirs]
    ownership.grant(frozenset({shards[ours]}))
    busy: list[frozenset[int]] = []

    def work(run: Run) -> None:
        ran.append(run.key)
        busy.append(ownership.busy())
        run.succeeded()

    settings = RunSettings(retry=retry.generic())
    queue = RunQueue("test", settings, ownership=ownership, clock=clock)
    queue.trigger(theirs)
    queue.deleted(theirs, None)
    assert queue.statistics().known == 0
    queue.trigger(ours)
    queue.start(work, 1)
    clock.wait_for(lambda: bool(ran) and not ownership.busy())
    assert ran == [ours]
    assert busy == [{shards[ours]}]
    # A trigger from before the shard was given up does not run either.
    queue.pause()
    queue.trigger(ours)
    ownership.drop(frozenset({shards[ours]}))
    queue.resume()
    clock.wait_for(lambda: queue.statistics().known == 0)
    queue.stop()
    assert ran == [ours]


def test_deleted_objects_of_a_shard_that_is_taken_run() -> None:
    clock = FakeClock(start=START)
    ran: list[tuple[ObjectName, object]] = []
    ownership: Ownership[ObjectName] = Ownership(8, clock=clock)
    ownership.renewed(START + 100)

    def work(run: Run) -> None:
        ran.append((run.key, run.last_known))
        run.gone()

    settings = RunSettings(retry=retry.generic())
    queue = RunQueue("test", settings, ownership=ownership, clock=clock)
    queue.note_deleted(A, "last state")
    queue.deleted(A, "last state")
    queue.note_deleted(B)
    queue.start(work, 1)
    ownership.grant(frozenset(range(8)))
    queue.recall(lambda _key: True)
    clock.wait_for(lambda: len(ran) == 2)
    queue.stop()
    assert ran == [(A, "last state"), (B, None)]


def test_objects_of_flows_take_turns() -> None:
    engine = Engine(fair_by=lambda key: key.namespace)
    for name in ("a", "b", "c"):
        engine.queue.trigger(ObjectName("many", name))
    engine.queue.trigger(ObjectName("one", "z"))

    engine.start()
    engine.settle()

    assert [name for _, name in engine.runs] == ["a", "z", "b", "c"]
    engine.queue.stop()
