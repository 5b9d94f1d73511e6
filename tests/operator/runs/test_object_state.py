"""The rules by which retries, timers and events meet, as plain functions of time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from clientgo.meta import ConflictError, NotFoundError, ObjectName
from clientgo.operator import RateLimit, retry
from clientgo.operator.controller.declaration import ControllerConfig
from clientgo.operator.errors import (
    CancelledError,
    DependentErrors,
    ReconcileTimeoutError,
    Retry,
    TerminalError,
)
from clientgo.operator.retry import ExponentialRetry, RetryState, policy_of
from clientgo.operator.runs import (
    FailedRun,
    ObjectState,
    Run,
    RunSettings,
    Timer,
    TimerKind,
    is_transient,
)
from clientgo.rest import RequestStoppedError
from clientgo.testing import FakeClock

KEY = ObjectName("default", "a")
TEN_HOURS = 36000.0


@dataclass
class Driver:
    """Plays the run queue: time goes on only when it is told to."""

    policy: Any = field(default_factory=retry.generic)
    max_interval: float = TEN_HOURS
    rate_limit: RateLimit | None = None
    now: float = 100.0
    generation: int = 1

    def __post_init__(self) -> None:
        self.state = ObjectState(RunSettings(self.policy, self.max_interval, self.rate_limit))

    def event(self, priority: int = 0) -> None:
        self.state.trigger(self.now, priority)
        self.state.begin(self.now)

    def event_waits_until(self) -> float:
        """The instant at which the run of an event would begin."""
        self.state.trigger(self.now, 0)
        following = self.state.next_run(self.now)
        assert following is not None
        return following[0]

    def timer(self) -> None:
        """Wait for the timer, and run."""
        assert self.state.timer is not None
        self.now = self.state.timer.due
        self.state.begin(self.now)

    def fail(self, error: Exception | None = None, **details: Any) -> float | None:
        """The run fails; returns the delay of the retry, None without one."""
        failure = FailedRun(error or ValueError("no"), **details)
        timer = Run(KEY, self.state, FakeClock(self.now, wall=self.now)).failed(
            failure, self.generation
        )
        self.state.ended()
        return None if timer is None else timer.due - self.now

    def succeed(self, delay: float | None = None) -> Timer | None:
        self.state.succeeded(self.now, delay, 0)
        self.state.ended()
        return self.state.timer

    def identify(self, uid: str) -> None:
        self.state.identify(uid, "")

    @property
    def attempt(self) -> int:
        return self.state.retry_info().attempt

    @property
    def is_last(self) -> bool:
        return self.state.retry_info().is_last


def failed_retries(driver: Driver) -> list[float]:
    """The delays of all retries, each of which fails as well."""
    driver.event()
    delays = []
    while (delay := driver.fail()) is not None:
        delays.append(delay)
        driver.timer()
    return delays


def test_a_policy_that_fails_leaves_the_retry_to_the_default_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A policy is the user's code: it must not end the manager, or leave an object alone."""
    driver = Driver(policy_of(SimpleNamespace(delay=lambda _state, _error: "soon"), None))
    driver.event()
    assert driver.fail() == retry.exponential().delay(RetryState(0), ValueError())
    assert "default/a: the retry policy failed; the default policy decides" in caplog.text


def test_no_lock_is_held_while_a_policy_decides() -> None:
    """OP-RTY-17: it may take its time, or ask the queue."""
    lock = threading.Lock()
    policy = policy_of(SimpleNamespace(delay=lambda *_: 7.0 if not lock.locked() else None), None)
    state = ObjectState(RunSettings(policy))
    state.trigger(0.0, 0)
    state.begin(0.0)

    timer = Run(KEY, state, FakeClock(), lock=lock).failed(FailedRun(ValueError("no")))

    assert timer == Timer(TimerKind.RETRY, 7.0)


def test_the_default_policy_never_gives_up() -> None:
    """OP-RTY-01, OP-RTY-02: 2, 3, 4.5, 6.75, 10.125 seconds and so on, up to five minutes."""
    policy = ControllerConfig().checked().retry
    assert policy == retry.exponential()
    driver = Driver(policy)
    driver.event()
    delays = []
    for _ in range(1000):
        delay = driver.fail()
        assert delay is not None
        delays.append(delay)
        driver.timer()
    assert delays[:5] == pytest.approx([2.0, 3.0, 4.5, 6.75, 10.125])
    assert delays[13:] == pytest.approx([300.0] * 987)


def test_the_generic_policy_retries_five_times() -> None:
    """OP-RTY-01, OP-RTY-02: 2, 3, 4.5, 6.75, 10.125 seconds, then no more."""
    assert failed_retries(Driver()) == pytest.approx([2.0, 3.0, 4.5, 6.75, 10.125])


def test_the_cap_of_the_generic_policy_is_in_whole_milliseconds() -> None:
    """OP-RTY-01: 15 187 ms."""
    endless = retry.generic(max_attempts=None)
    delays = [endless.delay(RetryState(attempt), ValueError()) for attempt in (4, 5, 6, 10_000)]
    assert delays == [10.125, 15.187, 15.187, 15.187]


def test_an_attempt_is_counted_when_its_retry_begins() -> None:
    """OP-RTY-03: 0 in the first run, k in retry k; the last one says so."""
    driver = Driver(retry.generic(max_attempts=2))
    driver.event()
    assert (driver.attempt, driver.is_last) == (0, False)
    driver.fail()
    driver.timer()
    assert (driver.attempt, driver.is_last) == (1, False)
    driver.fail()
    driver.timer()
    assert (driver.attempt, driver.is_last) == (2, True)


def test_without_retries_every_run_is_the_last() -> None:
    """OP-RTY-03, OP-RTY-16: with max_attempts 0 and with no policy at all."""
    for policy in (retry.none(), retry.generic(max_attempts=0)):
        driver = Driver(policy)
        driver.event()
        assert driver.is_last
        assert driver.fail() is None
        assert driver.attempt == 0


def test_without_a_limit_no_run_is_the_last() -> None:
    """OP-RTY-04"""
    driver = Driver(retry.generic(max_attempts=None))
    driver.event()
    for _ in range(50):
        assert driver.fail() is not None
        driver.timer()
    assert driver.attempt == 50
    assert not driver.is_last


def test_a_success_ends_retries_and_timers() -> None:
    """OP-RTY-05, OP-RTY-07: what failed is forgotten, what was planned is replaced."""
    driver = Driver()
    driver.event()
    driver.fail()
    driver.timer()
    assert driver.succeed(7.0) == Timer(TimerKind.REQUEUE, driver.now + 7.0)
    info = driver.state.retry_info()
    assert (info.attempt, info.last_error, info.first_failure) == (0, None, None)


def test_a_run_knows_what_failed_before_it() -> None:
    """OP-RTY-03: the first failure stays, the last error changes."""
    driver = Driver(now=50.0)
    driver.event()
    driver.fail(ValueError("first"))
    driver.timer()
    driver.fail(ValueError("second"))
    info = driver.state.retry_info()
    assert info.first_failure == 50.0
    assert str(info.last_error) == "second"


def test_when_the_retries_are_used_up_an_event_still_runs() -> None:
    """OP-RTY-06, OP-RTY-09: it is the last one again, and starts no retry."""
    driver = Driver(retry.generic(max_attempts=1))
    assert failed_retries(driver) == [2.0]
    driver.now += 1000
    driver.event()
    assert (driver.attempt, driver.is_last) == (1, True)
    assert driver.fail() is None
    driver.event()
    driver.succeed()
    assert driver.attempt == 0


def test_an_event_is_no_retry() -> None:
    """OP-RTY-08, OP-RTY-22: the number stays, and the whole delay of the same attempt follows."""
    driver = Driver()
    driver.event()
    assert driver.fail() == 2.0
    driver.now += 0.5
    driver.event()
    assert driver.attempt == 0
    assert driver.fail() == 2.0


def test_an_event_long_before_a_retry_leaves_its_instant() -> None:
    """OP-RTY-22: more than five seconds before the retry nothing is put off."""
    driver = Driver(retry.fixed(60.0))
    driver.event()
    driver.fail()
    due = driver.state.timer
    driver.now += 10
    driver.event()
    driver.fail()
    assert driver.state.timer == due


def test_events_cannot_make_a_busy_loop() -> None:
    """OP-RTY-10: after ten failures in a row the next run waits for the retry that is pending."""
    driver = Driver(retry.fixed(60.0, None))
    for _ in range(10):
        assert driver.event_waits_until() == driver.now
        driver.event()
        driver.fail()
        driver.now += 0.001
    pending = driver.state.timer
    assert pending is not None
    assert driver.event_waits_until() == pending.due
    driver.now += 1
    assert driver.event_waits_until() == pending.due, "another event changes nothing"
    driver.now = pending.due
    assert driver.event_waits_until() == driver.now


def test_the_guard_holds_where_no_retry_is_pending() -> None:
    """OP-RTY-10: with the retries used up the wait is that of a first retry."""
    driver = Driver(retry.none())
    for _ in range(10):
        driver.event()
        driver.fail()
    assert driver.event_waits_until() == driver.now + 2.0


def test_after_the_wait_ten_more_may_fail() -> None:
    """OP-RTY-10: the count is of runs without a wait between them."""
    driver = Driver(retry.none())
    for _ in range(10):
        driver.event()
        driver.fail()
    driver.now = driver.event_waits_until()
    driver.event()
    driver.fail()
    assert driver.event_waits_until() == driver.now


def test_a_success_ends_the_guard() -> None:
    """OP-RTY-10"""
    driver = Driver()
    for _ in range(10):
        driver.event()
        driver.fail()
    driver.event()
    driver.succeed()
    driver.event()
    driver.fail()
    assert driver.event_waits_until() == driver.now


@pytest.mark.parametrize("details", [{"error": TerminalError("no")}, {"retries": False}])
def test_what_no_retry_can_cure_is_not_retried(details: dict[str, Any]) -> None:
    """OP-RTY-14, OP-RTY-21: the next run is by an event or by the safety timer."""
    driver = Driver()
    driver.event()
    assert driver.fail(**details) is None
    assert driver.state.timer == Timer(TimerKind.SAFETY, driver.now + TEN_HOURS)
    assert driver.state.exhausted


def test_a_safety_timer_follows_every_success() -> None:
    """OP-RTY-20: ten hours after the end of the run."""
    driver = Driver()
    driver.event()
    driver.now += 3
    assert driver.succeed() == Timer(TimerKind.SAFETY, driver.now + TEN_HOURS)


def test_the_safety_timer_can_be_off() -> None:
    """OP-RTY-20"""
    driver = Driver(max_interval=0.0)
    driver.event()
    assert driver.succeed() is None


def test_no_result_waits_longer_than_the_safety_timer() -> None:
    """OP-RES-04"""
    driver = Driver(max_interval=60.0)
    driver.event()
    assert driver.succeed(3600.0) == Timer(TimerKind.REQUEUE, driver.now + 60.0)


def test_without_a_safety_timer_a_result_waits_as_long_as_it_likes() -> None:
    """OP-RES-04"""
    driver = Driver(max_interval=0.0)
    driver.event()
    assert driver.succeed(90_000.0) == Timer(TimerKind.REQUEUE, driver.now + 90_000.0)


def test_while_retries_remain_there_is_no_safety_timer() -> None:
    """OP-RTY-21"""
    driver = Driver()
    driver.event()
    driver.fail()
    assert driver.state.timer is not None
    assert driver.state.timer.kind is TimerKind.RETRY


def test_a_policy_may_leave_exhausted_objects_alone() -> None:
    """OP-RTY-21: after_exhaustion="wait"."""
    driver = Driver(retry.generic(max_attempts=0, after_exhaustion="wait"))
    driver.event()
    driver.fail()
    assert driver.state.timer is None


def test_a_delay_that_the_error_asks_for_uses_up_no_retry() -> None:
    """OP-RES-02, OP-RTY-25: Retry(after=...) is a failure, and not an attempt."""
    driver = Driver(retry.generic(max_attempts=1))
    driver.event()
    for _ in range(5):
        assert driver.fail(Retry("busy", after=30)) == 30.0
        driver.timer()
        assert driver.attempt == 0


def test_the_servers_wish_is_a_lower_bound() -> None:
    """OP-RTY-25: Retry-After of a 429 or 503."""
    driver = Driver()
    driver.event()
    assert driver.fail(at_least=20.0) == 20.0


def test_a_transient_failure_is_retried_without_an_attempt() -> None:
    """OP-RTY-06, OP-RTY-13: soon at first, then less often; the policy is not asked."""
    driver = Driver(retry.none())
    driver.event()
    delays = []
    for _ in range(12):
        delays.append(driver.fail(ConflictError.of("changed")))
        driver.timer()
        assert driver.attempt == 0
    assert delays[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert delays[9:] == [30.0] * 3


def test_a_wrapped_failure_is_as_transient_as_what_it_wraps() -> None:
    """OP-RTY-06: of several failures all have to be."""
    conflict, bug = ConflictError.of("changed"), ValueError("bug")
    wrapped = RuntimeError("could not write")
    wrapped.__cause__ = conflict
    assert is_transient(wrapped)
    assert is_transient(DependentErrors({"one": conflict, "two": wrapped}))
    assert is_transient(ExceptionGroup("both", [conflict, wrapped]))
    assert not is_transient(DependentErrors({"one": conflict, "two": bug}))
    assert not is_transient(NotFoundError.of("gone"))
    assert not is_transient(bug)


def test_a_run_whose_time_ended_in_a_request_is_as_transient_as_an_outage() -> None:
    """OP-RTY-06, OP-CTL-05: an API server that does not answer uses up no attempt."""
    stopped = RequestStoppedError("GET", "https://server/apis", "stopped")
    cancelled = CancelledError("the request was cut short")
    cancelled.__cause__ = stopped
    timed_out = ReconcileTimeoutError("it took too long")
    timed_out.__cause__ = cancelled
    assert is_transient(timed_out)
    assert not is_transient(ReconcileTimeoutError("it took too long"))


def test_a_requeue_survives_failures() -> None:
    """OP-RES-05: with or without retries, and never later than a retry would be."""
    for policy, expected in ((retry.none(), 10.0), (retry.fixed(60.0), 10.0), (None, 2.0)):
        driver = Driver(policy or retry.exponential())
        driver.event()
        driver.succeed(10.0)
        driver.timer()
        assert driver.fail() == expected
        driver.timer()
        assert driver.fail() is not None


def test_an_event_that_fails_leaves_the_instant_of_a_requeue() -> None:
    """OP-RES-05"""
    driver = Driver(retry.none())
    driver.event()
    driver.succeed(60.0)
    driver.now += 20
    driver.event()
    assert driver.fail() == 40.0


def test_a_run_that_was_asked_for_later_survives_a_failure_without_retries() -> None:
    """OP-SRC-07"""
    driver = Driver(retry.none())
    driver.state.trigger_at(driver.now + 30, 0)
    driver.event()
    assert driver.fail() == 30.0


def test_a_new_generation_may_get_all_retries_anew() -> None:
    """OP-RTY-19: only where the policy says so."""
    for resets, attempts in ((True, 0), (False, 1)):
        driver = Driver(retry.generic(max_attempts=1, reset_on_generation=resets))
        failed_retries(driver)
        driver.generation += 1
        driver.event()
        assert (driver.fail() == 2.0) is resets
        assert driver.attempt == attempts


def test_the_failures_die_with_the_object() -> None:
    """OP-RTY-24: another uid is another object."""
    driver = Driver()
    driver.identify("first")
    failed_retries(driver)
    driver.identify("first")
    assert driver.attempt == 5
    driver.identify("second")
    assert driver.attempt == 0
    assert driver.state.timer is None


def test_presets() -> None:
    """OP-RTY-16: fixed(10 s, 10) and workqueue() = 5 ms doubled up to 1000 s without end."""
    assert failed_retries(Driver(retry.fixed())) == [10.0] * 10
    workqueue = retry.workqueue()
    delays = [workqueue.delay(RetryState(attempt), ValueError()) for attempt in (0, 1, 2, 17, 18)]
    assert delays == pytest.approx([0.005, 0.01, 0.02, 655.36, 1000.0])


def test_jitter_only_adds() -> None:
    """OP-RTY-18: j adds up to j times the delay."""
    policy = ExponentialRetry(2.0, 1.5, None, 15.0, jitter=0.5, random=lambda: 1.0)
    assert policy.delay(RetryState(0), ValueError()) == 3.0
    assert retry.generic().delay(RetryState(0), ValueError()) == 2.0


def test_what_is_asked_for_later_during_a_run_survives_it() -> None:
    """OP-SRC-07, OP-QUE-01: the earlier of what the run wants and what others want counts."""
    driver = Driver()
    driver.event()
    driver.state.trigger_at(driver.now + 5, 3)
    driver.succeed(60.0)
    assert driver.state.timer == Timer(TimerKind.REQUEUE, driver.now + 5)
    assert driver.state.next_run(driver.now) == (driver.now + 5, 3)


def test_priorities_of_triggers_add_up_to_the_highest() -> None:
    """OP-QUE-01"""
    state = Driver().state
    for priority in (-100, 5, 0):
        state.trigger(0.0, priority)
    assert state.next_run(0.0) == (0.0, 5)
    assert state.begin(0.0) == 5


def test_a_timer_brings_its_own_priority() -> None:
    """OP-QUE-03"""
    driver = Driver(max_interval=10.0)
    driver.event()
    driver.succeed()
    assert driver.state.next_run(driver.now) == (driver.now + 10.0, -100)
    assert driver.state.begin(driver.now + 10.0) == -100


def test_an_object_at_rest_has_no_next_run() -> None:
    driver = Driver(max_interval=0.0)
    assert driver.state.next_run(driver.now) is None
    driver.event()
    driver.succeed()
    assert driver.state.next_run(driver.now) is None


def test_a_debounce_holds_the_first_event_and_gathers_the_others() -> None:
    """OP-RL-04: further events move nothing; a further pass does not wait."""
    driver = Driver(rate_limit=RateLimit(100, 10.0, debounce=2.0).checked())
    assert driver.event_waits_until() == driver.now + 2.0
    driver.now += 1.5
    assert driver.event_waits_until() == driver.now + 0.5
    driver.now += 0.5
    driver.state.begin(driver.now)
    driver.state.again(0)
    assert driver.event_waits_until() == driver.now


def test_a_limit_counts_what_began_and_holds_timers_too() -> None:
    """OP-RL-01, OP-RL-03"""
    driver = Driver(max_interval=3.0, rate_limit=RateLimit(2, 10.0).checked())
    began = driver.now
    for _ in range(2):
        driver.event()
        driver.succeed()
        driver.now += 1
    assert driver.state.next_run(driver.now) == (began + 10.0, -100)
    assert driver.event_waits_until() == began + 10.0


def test_runs_that_only_own_writes_cause_wait_more_and_more() -> None:
    """Ten in a row have no wait; anything else that asks for a run starts the count again."""
    driver = Driver()
    waits = []
    driver.event()
    for _ in range(18):
        driver.succeed()
        wait = driver.state.own_write(driver.now, "")
        assert wait is not None
        waits.append(wait)
        driver.now += wait
        driver.state.begin(driver.now)
    assert waits == [0.0] * 10 + [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    driver.succeed()
    driver.event()
    assert driver.state.own_write(driver.now, "") == 0.0


def test_the_event_of_an_own_write_that_a_run_has_seen_asks_for_none() -> None:
    """OP-RES-10: such as that of a finalizer, which the pass after it has read."""
    driver = Driver()
    driver.event()
    driver.state.identify("uid", "7")
    assert driver.state.own_write(driver.now, "7") is None
    assert not driver.state.pending
    assert driver.state.own_write(driver.now, "10") == 0.0
    assert driver.state.pending
