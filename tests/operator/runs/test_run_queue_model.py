"""Whatever happens to the objects of a controller, in whatever order: what holds of its runs."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import ObjectName
from clientgo.operator import RateLimit, Retry, TerminalError
from clientgo.operator.runs import FailedRun, Run
from tests.operator.runs.test_run_queue import Engine

HEALTHY = ObjectName("", "healthy")
"""Succeeds always; what the others do must not be felt."""

OTHERS = [ObjectName("", name) for name in "ab"]

LONGEST_WAIT = 30.0
"""Seconds that a limit, or the guard against busy loops, may put off what was triggered."""

REPEATS = 1.0
"""Seconds: no object asks for another run of its own accord sooner."""

ENDINGS = {
    "succeed": lambda run: run.succeeded(),
    "come back": lambda run: run.succeeded(REPEATS),
    "fail": lambda run: run.failed(FailedRun(ValueError("no"))),
    "fail for good": lambda run: run.failed(FailedRun(TerminalError("no"))),
    "ask for a retry": lambda run: run.failed(FailedRun(Retry(after=REPEATS))),
    "go": lambda run: run.gone(),
}

MEANWHILE = ("write first", "change", "ask for later", "be forgotten")
"""What happens during one run only; the next succeeds."""

keys = st.sampled_from([HEALTHY, *OTHERS])
behaviours = st.sampled_from(sorted((*ENDINGS, *MEANWHILE)))
moments = st.sampled_from([0.1, 1 / 3, 1.0, 4.0, 20.0])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("trigger"), keys, st.integers(1, 12)),
        st.tuples(st.just("trigger later"), keys, moments),
        st.tuples(st.just("forget"), st.sampled_from(OTHERS)),
        st.tuples(st.just("behave"), st.sampled_from(OTHERS), behaviours),
        st.tuples(st.just("pass"), moments),
        st.tuples(st.just("pause")),
        st.tuples(st.just("resume")),
    ),
    min_size=5,
    max_size=40,
)
limits = st.sampled_from([None, RateLimit(2, 10.0), RateLimit(5, 2.0, debounce=0.5)])


class Model:
    """Does what happens to an engine, and to its own books, which are simpler."""

    def __init__(self, limit: RateLimit | None) -> None:
        self.engine = Engine(self.work, rate_limit=limit, max_interval=300.0)
        self.engine.start(workers=3)
        self.limit = limit
        self.lock = threading.Lock()
        self.behaviour: dict[ObjectName, str] = {}
        self.in_hand: Counter[ObjectName] = Counter()
        self.overlaps: list[ObjectName] = []
        self.owed: dict[ObjectName, float] = {}
        """By when an object has to run, because it was triggered."""
        self.at_once: set[ObjectName] = set()
        """Those that are owed a run because of what happened, not because of a timer."""
        self.silent: set[ObjectName] = set()
        """Objects that were forgotten; nobody asked for them since."""
        self.ran_though_forgotten: list[ObjectName] = []
        self.asked: Counter[ObjectName] = Counter()
        self.runs: Counter[ObjectName] = Counter()
        self.paused = False

    def work(self, run: Run) -> None:
        with self.lock:
            self.in_hand[run.key] += 1
            if self.in_hand[run.key] > 1:
                self.overlaps.append(run.key)
            if run.key in self.silent:
                self.ran_though_forgotten.append(run.key)
            self.owed.pop(run.key, None)
            self.at_once.discard(run.key)
            self.runs[run.key] += 1
            ending = self.behaviour.get(run.key, "succeed")
            if ending in MEANWHILE:
                self.behaviour[run.key] = "succeed"
        match ending:
            case "write first":
                run.again()
            case "change":
                self._ask(run.key, 0.0)
                self.engine.queue.trigger(run.key)
                run.succeeded()
            case "ask for later":
                self._ask(run.key, 4.0)
                self.engine.queue.trigger(run.key, after=4.0)
                run.succeeded()
            case "be forgotten":
                self.forget(run.key)
                run.succeeded(REPEATS)
            case _:
                if ending == "go":
                    self.silence(run.key)
                ENDINGS[ending](run)
        with self.lock:
            self.in_hand[run.key] -= 1

    # What may happen

    def trigger(self, key: ObjectName, times: int) -> None:
        for _ in range(times):
            self._ask(key, 0.0)
            self.engine.queue.trigger(key)
            self.engine.settle()

    def trigger_later(self, key: ObjectName, after: float) -> None:
        self._ask(key, after)
        self.engine.queue.trigger(key, after=after)

    def forget(self, key: ObjectName) -> None:
        self.silence(key)
        self.engine.queue.forget(key)

    def behave(self, key: ObjectName, ending: str) -> None:
        self.behaviour[key] = ending

    def pause(self) -> None:
        self.paused = True
        self.engine.queue.pause()

    def resume(self) -> None:
        self.paused = False
        self.engine.queue.resume()

    def pass_(self, seconds: float) -> None:
        self.engine.run_for(seconds)

    def silence(self, key: ObjectName) -> None:
        """It is gone: unless somebody asked for a run since, there is none."""
        with self.lock:
            if key not in self.at_once:
                self.owed.pop(key, None)
                self.silent.add(key)

    def _ask(self, key: ObjectName, after: float) -> None:
        with self.lock:
            self.silent.discard(key)
            self.asked[key] += 1
            due = self.now + after
            if not after:
                self.at_once.add(key)
            self.owed[key] = min(due, self.owed.get(key, due))

    @property
    def now(self) -> float:
        return self.engine.clock.monotonic()

    # What must hold

    def check(self) -> None:
        assert self.overlaps == [], "two runs of one object at a time"
        assert self.ran_though_forgotten == [], "the timer of a forgotten object"
        if self.paused:
            return
        for key, due in self.owed.items():
            patient = self.limit is not None or key is not HEALTHY
            late = self.now - due
            assert late < (LONGEST_WAIT if patient else 1e-6), f"{key}: triggered, and no run"

    def check_no_busy_loop(self, lasted: float) -> None:
        for key, count in self.runs.items():
            # A pass that writes is followed by another at once; so each may count twice.
            assert count <= 2 * (self.asked[key] + lasted / REPEATS + 1), f"{key} ran {count} times"


@given(steps, limits)
def test_whatever_happens(happenings: list[tuple[Any, ...]], limit: RateLimit | None) -> None:
    """OP-CTL-02, OP-QUE-01, OP-QUE-06, OP-RTY-10, OP-RTY-24, OP-RL-02: one run of an object at a
    time; no trigger lost; failures are felt by nobody else; no busy loop; and of objects that are
    gone nothing is left."""
    model = Model(limit)
    started = model.now
    try:
        for name, *arguments in happenings:
            getattr(model, "pass_" if name == "pass" else name.replace(" ", "_"))(*arguments)
            model.engine.settle()
            model.check()
        model.resume()
        model.pass_(LONGEST_WAIT + 10)
        model.check()
        model.check_no_busy_loop(model.now - started)
        model.behaviour = dict.fromkeys(OTHERS, "go")
        for key in OTHERS:
            model.trigger(key, 1)
        model.pass_(LONGEST_WAIT)
        model.engine.queue.forget(HEALTHY)
        statistics = model.engine.queue.statistics()
        assert (statistics.known, statistics.waiting) == (0, 0), "something is left"
    finally:
        assert model.engine.queue.stop() == []
