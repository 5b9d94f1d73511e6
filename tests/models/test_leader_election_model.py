"""No two leaders act at once, whatever the network and the scheduler do.

Candidates run as they are, each on a clock of its own that goes too fast or too slow. Requests
and answers are lost, late, or arrive long after they were given up; processes are suspended. What
is assumed is what docs/concepts/leader-election.md states: clocks do not differ in rate by more
than the margin allows, identities are unique, only candidates write the lease, and what the guarded
work does after a look at the clock it does at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clientgo.leaderelection import (
    LeaderElectionConfig,
    LeaderElectionRecord,
    LeaderElector,
    Leadership,
    Timing,
)
from clientgo.testing import FakeClock
from clientgo.util.clock import Clock, nanoseconds
from tests.leaderelection.shared_lease import SharedLease

TIMING = Timing(lease_duration=15, renew_deadline=10, retry_period=2)
MOST_DRIFT = 0.06
"""A clock may gain or lose so much: 13 s of the slowest are less than 15 s of the fastest."""

TROUBLED, QUIET = 120.0, 60.0
LATENCY = 0.05


@dataclass(frozen=True)
class Trouble:
    """Requests sent from ``begin`` on take longer there or back, for ever if infinite."""

    begin: float
    lasts: float
    there: float
    back: float

    def holds_at(self, instant: float) -> bool:
        return self.begin <= instant < self.begin + self.lasts


@dataclass(frozen=True)
class Fate:
    """What befalls one candidate."""

    rate: float
    offset: float
    troubles: list[Trouble] = field(default_factory=list)
    pauses: list[tuple[float, float]] = field(default_factory=list)
    act_every: float = 0.7
    random: float = 0.5


_INSTANTS = st.floats(0, TROUBLED)
_DELAYS = st.sampled_from([LATENCY, 1.0, 4.9, 12.0, 30.0, inf])
_FATES = st.builds(
    Fate,
    rate=st.floats(1 - MOST_DRIFT, 1 + MOST_DRIFT),
    offset=st.floats(-1e6, 1e6),
    troubles=st.lists(
        st.builds(Trouble, _INSTANTS, st.floats(0.1, 40), there=_DELAYS, back=_DELAYS), max_size=4
    ),
    pauses=st.lists(st.tuples(_INSTANTS, st.floats(0.1, 40)), max_size=3),
    act_every=st.sampled_from([0.3, 0.7, 1.9]),
    random=st.floats(0, 0.99),
)


class OwnClock:
    """A clock that is off, in a process that may be suspended."""

    def __init__(self, true: FakeClock, fate: Fate) -> None:
        self._true = true
        self._fate = fate

    def monotonic(self) -> float:
        return self._fate.offset + self._fate.rate * self._true.monotonic()

    def time(self) -> float:
        return 1e9 + self.monotonic()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        self._true.sleep(seconds / self._fate.rate, stop)
        self._stay_suspended()
        return stop is not None and stop.is_set()

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        deadline = None if timeout is None else self.monotonic() + timeout
        return self.wait_until(condition, deadline)

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        assert deadline is not None
        # A few nanoseconds later, lest rounding should let it come too early, again and again.
        instant = (deadline - self._fate.offset) / self._fate.rate + 1e-8
        notified = self._true.wait_until(condition, instant)
        self._stay_suspended()
        return notified

    def _stay_suspended(self) -> None:
        while (ends := self._suspended_until()) is not None:
            self._true.sleep(ends - self._true.monotonic())

    def _suspended_until(self) -> float | None:
        now_ns = nanoseconds(self._true.monotonic())
        return max(
            (
                begin + lasts
                for begin, lasts in self._fate.pauses
                if nanoseconds(begin) <= now_ns < nanoseconds(begin + lasts)
            ),
            default=None,
        )


class Network:
    """Carries requests to the lease when they arrive, which the sender need not live to see."""

    def __init__(self, true: FakeClock, lease: SharedLease) -> None:
        self.true = true
        self.lease = lease
        self._on_their_way: list[tuple[int, Callable[[], None]]] = []
        self._lock = threading.Lock()

    def send(self, takes: float, deliver: Callable[[], None]) -> None:
        with self._lock:
            arrives_ns = nanoseconds(self.true.monotonic() + takes)
            self._on_their_way.append((arrives_ns, deliver))

    def next_arrival_in(self) -> float:
        with self._lock:
            next_ns = min((arrives_ns for arrives_ns, _ in self._on_their_way), default=None)
        return inf if next_ns is None else (next_ns - nanoseconds(self.true.monotonic())) / 1e9

    def deliver_due(self) -> None:
        with self._lock:
            now_ns = nanoseconds(self.true.monotonic())
            due = [item for item in self._on_their_way if item[0] <= now_ns]
            self._on_their_way = [item for item in self._on_their_way if item[0] > now_ns]
        for _, deliver in sorted(due, key=lambda item: item[0]):
            deliver()


class DistantLock:
    """A candidate's lock at the other end of the network."""

    def __init__(self, network: Network, identity: str, clock: Clock, fate: Fate) -> None:
        self.identity = identity
        self.is_leading = False
        self.is_releasing = False
        self._elector_thread: threading.Thread | None = None
        self._network = network
        self._clock = clock
        self._fate = fate
        self._version = 0

    def describe(self) -> str:
        return "model"

    def get(self, *, timeout: float, stop: threading.Event | None = None) -> LeaderElectionRecord:
        record, self._version = self._ask(self._network.lease.get, timeout, stop)
        return record

    def create(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        self._version = self._ask(lambda: self._network.lease.create(record), timeout, stop)

    def update(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        seen = self._version
        self._version = self._ask(lambda: self._network.lease.update(record, seen), timeout, stop)

    def record_event(self, message: str) -> None:
        self.is_leading = message == "became leader"
        self.is_releasing = False
        self._elector_thread = threading.current_thread()

    def _ask(self, request, timeout, stop):  # type: ignore[no-untyped-def]
        self.is_releasing = self.is_leading and threading.current_thread() is self._elector_thread
        sent = self._network.true.monotonic()
        there = back = LATENCY
        for trouble in self._fate.troubles:
            if trouble.holds_at(sent):
                there, back = max(there, trouble.there), max(back, trouble.back)
        answers: list[object] = []

        def deliver() -> None:
            try:
                answers.append(request())
            except Exception as error:
                answers.append(error)

        if there < inf:
            self._network.send(there, deliver)
        patience = timeout / self._fate.rate
        answered = there + back < patience
        wait = there + back if answered else patience
        if self._clock.sleep(wait * self._fate.rate, stop) or not answered:
            raise TimeoutError("given up")
        (answer,) = answers
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass(frozen=True, order=True)
class Act:
    at: float
    token: int
    identity: str


class Process:
    """A candidate that begins anew whenever a term is over."""

    def __init__(self, network: Network, identity: str, fate: Fate, acts: list[Act]) -> None:
        self._true = network.true
        self._clock = OwnClock(network.true, fate)
        self._fate = fate
        self._acts = acts
        self.lock = DistantLock(network, identity, self._clock, fate)
        self._stop = threading.Event()
        self._works = False
        self._leadership: Leadership | None = None
        config = LeaderElectionConfig(
            timing=TIMING,
            lock=self.lock,
            on_started_leading=self._work,
            on_stopped_leading=lambda _: None,
        )
        self._elector = LeaderElector(config, clock=self._clock, random=lambda: fate.random)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self._stop.set()

    def waits_at_rest(self) -> int | None:
        """How many threads wait for the clock when all do; None while some certainly do not."""
        if not self.lock.is_leading or self.lock.is_releasing:
            return 1
        if not self._works or (self._leadership is not None and self._leadership.stop.is_set()):
            return None
        return 3

    def _run(self) -> None:
        while not self._stop.is_set():
            self._elector.run(self._stop)

    def _work(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._works = True
        try:
            while not self._clock.sleep(self._fate.act_every, leadership.stop):
                leadership.check()
                act = Act(self._true.monotonic(), leadership.transitions, self.lock.identity)
                self._acts.append(act)
        finally:
            self._works = False


def play(fates: list[Fate]) -> tuple[list[Act], float]:
    """Let candidates meet their fates, then have some quiet; all acts, and when it ended."""
    true = FakeClock()
    network = Network(true, SharedLease())
    acts: list[Act] = []
    processes = [
        Process(network, identity, fate, acts)
        for identity, fate in zip("abcd", fates, strict=False)
    ]

    def at_rest() -> bool:
        waits = [process.waits_at_rest() for process in processes]
        return None not in waits and sum(filter(None, waits)) == true.waiters()

    try:
        true.wait_for(at_rest)
        while true.monotonic() < TROUBLED + QUIET:
            wake_up_in = (true.next_deadline() or inf) - true.monotonic()
            true.step(max(min(wake_up_in, network.next_arrival_in()), 0.0))
            network.deliver_due()
            true.wait_for(at_rest)
    finally:
        ended = true.monotonic()
        for process in processes:
            process.stop()
        for process in processes:
            while process.thread.is_alive():
                process.thread.join(0.001)
                true.step(1.0)
                network.deliver_due()
    return [act for act in acts if act.at <= ended], ended


def assert_that_terms_do_not_overlap(acts: list[Act]) -> None:
    in_order = sorted(acts, key=lambda act: act.at)
    for earlier, later in pairwise(in_order):
        assert earlier.token <= later.token, (earlier, later)
        assert earlier.identity == later.identity or earlier.token < later.token, (earlier, later)


# The answer to a renewal comes late, and no further renewal arrives: the slowest clock must count
# from when it was sent, for the fastest counts from when it arrived.
_LATE_ANSWER = [
    Fate(
        rate=1 - MOST_DRIFT,
        offset=0,
        troubles=[Trouble(20, 2.5, LATENCY, 4.5), Trouble(22.5, 40, inf, inf)],
        act_every=0.3,
    ),
    Fate(rate=1 + MOST_DRIFT, offset=0, random=0.0),
]


@example(_LATE_ANSWER)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_FATES, min_size=2, max_size=3))
def test_no_two_leaders_act_at_once_and_one_is_found_when_trouble_is_over(
    fates: list[Fate],
) -> None:
    """P-16, P-18, P-22, LE-04."""
    acts, ended = play(fates)

    assert_that_terms_do_not_overlap(acts)
    assert any(act.at > ended - 10 for act in acts), "nobody leads although all is well"


def test_the_model_can_tell_when_two_act_at_once() -> None:
    acts = [Act(1.0, 0, "a"), Act(2.0, 1, "b"), Act(2.5, 0, "a")]

    try:
        assert_that_terms_do_not_overlap(acts)
    except AssertionError:
        return
    raise RuntimeError("an overlap went unnoticed")
