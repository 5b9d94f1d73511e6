"""Sources that ask, for what has no watch."""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from clientgo.meta import ObjectName
from clientgo.operator import Context, controller
from clientgo.operator.addons.polling import PollingSource, poll
from clientgo.operator.errors import AlreadyStartedError, ConfigError, DeclarationError
from tests.operator.world import Gadget, Recording, World, gadget, record_triggers

A, B = ObjectName("default", "a"), ObjectName("default", "b")
PERIOD = 10.0


class Outside:
    """What there is outside of the cluster; notes each question and may fail, or be held up."""

    def __init__(self, **items: list[str]) -> None:
        self.items: dict[str, list[str]] = items
        self.asked: queue.Queue[str] = queue.Queue()
        self.failure: Exception | None = None
        self.answer: Any = None
        self.period: float | None = None
        self.go_on = threading.Event()
        self.go_on.set()

    def all(self) -> Any:
        self._note("")
        return self.answer or {
            ObjectName("default", name): found for name, found in self.items.items()
        }

    def of(self, primary: Gadget) -> Any:
        self._note(primary.metadata.name)
        found = self.items.get(primary.metadata.name, [])
        return found if self.period is None else (found, self.period)

    def questions(self, count: int) -> list[str]:
        return [self.asked.get(timeout=30) for _ in range(count)]

    def _note(self, name: str) -> None:
        self.asked.put(name)
        self.go_on.wait(30)
        if self.failure is not None:
            raise self.failure


class Poll:
    """A world with gadgets and one polling source; runs tell what they saw."""

    def __init__(self, world: World, source: Any, outside: Outside) -> None:
        self.world = world
        self.source = source
        self.outside = outside
        self.seen: queue.Queue[tuple[str, list[str]]] = queue.Queue()
        self.recording = Recording(self._reconcile)
        builder = world.manager.controller(Gadget).options(max_interval=None).source(source)
        self.controller = builder.build(self.recording)

    def _reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
        self.seen.put((obj.metadata.name, sorted(ctx.secondaries(str))))

    def saw(self, count: int) -> list[tuple[str, list[str]]]:
        return sorted(self.seen.get(timeout=30) for _ in range(count))

    def pass_time(self, seconds: float = PERIOD) -> None:
        """Let the next questions be asked: once the answers so far have led to a wait."""
        self.world.clock.wait_for(self._waits)
        self.world.clock.wait_for(self.world.at_rest)
        self.world.clock.step(seconds)

    def _waits(self) -> bool:
        """Whether every question was answered, and is to be asked again."""
        if isinstance(self.source, PollingSource):
            deadline = self.world.clock.next_deadline()
            return deadline is not None and deadline > self.world.clock.monotonic()
        assert self.source._started is not None
        statistics = self.source._started.queue.statistics()
        return bool(statistics.ready == statistics.running == 0 < statistics.waiting)


@pytest.fixture
def polling(make_world: Callable[..., World]) -> Callable[..., Poll]:
    def make(outside: Outside, **options: Any) -> Poll:
        world = make_world(gadget("a"), gadget("b"))
        fetch = outside.of if options.get("per_resource") else outside.all
        source = poll(fetch, **{"period": PERIOD, "kind": str, **options})
        return Poll(world, source, outside)

    return make


# One question for all


def test_the_first_answer_is_there_before_anything_runs(polling: Callable[..., Poll]) -> None:
    """OP-SRC-09, OP-CTL-03"""
    outside = Outside(a=["x", "y"])
    outside.go_on.clear()
    poll = polling(outside)
    starting = threading.Thread(target=poll.world.manager.start)
    starting.start()
    outside.questions(1)
    assert poll.recording.runs == []
    outside.go_on.set()
    starting.join(30)
    assert poll.saw(2)[:2] == [("a", ["x", "y"]), ("b", [])]


@pytest.mark.parametrize("per_resource", [False, True])
def test_a_first_answer_can_wait_and_a_changed_one_cannot(
    polling: Callable[..., Poll], per_resource: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CTL-06, OP-SRC-09: it says what there is, as a first list does."""
    outside = Outside(a=["x"], b=["y"])
    poll = polling(outside, per_resource=per_resource)
    poll.recording._answer = None  # a run that reads the items would ask before the poll does
    triggers = record_triggers(monkeypatch, poll.controller)
    with poll.world.running():
        outside.questions(2 if per_resource else 1)
        poll.world.clock.wait_for(lambda: len(triggers) >= 4)
        assert {priority for _, priority in triggers} == {-100}
        triggers.clear()
        outside.items = {"a": ["x", "y"], "b": ["y"]}
        poll.pass_time()
        poll.world.clock.wait_for(lambda: bool(triggers))
    assert triggers == [("a", 0)]


def test_a_first_answer_can_wait_also_when_it_comes_late(
    polling: Callable[..., Poll], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CTL-06: of many primaries the last are asked about long after the workers have started."""
    poll = polling(Outside(c=["x"]), per_resource=True)
    poll.recording._answer = None
    triggers = record_triggers(monkeypatch, poll.controller)
    with poll.world.running():
        poll.world.create(gadget("c"))
        poll.world.clock.wait_for(lambda: [name for name, _ in triggers].count("c") == 2)
    assert sorted(priority for name, priority in triggers if name == "c") == [-100, 0]


def test_only_primaries_whose_items_differ_are_run(polling: Callable[..., Poll]) -> None:
    """OP-SRC-10, OP-SRC-09: added, changed, removed; the period counts from the answer."""
    outside = Outside(a=["x"], b=["y"])
    poll = polling(outside)
    with poll.world.running():
        poll.saw(2)
        outside.questions(1)
        outside.items = {"a": ["x"], "b": ["y", "z"]}
        poll.pass_time(PERIOD - 1)
        assert outside.asked.empty()
        poll.pass_time(1)
        assert poll.saw(1) == [("b", ["y", "z"])]
        outside.items = {"a": ["x"]}
        poll.pass_time()
        assert poll.saw(1) == [("b", [])]
        poll.pass_time()
        outside.questions(3)
        poll.world.clock.wait_for(poll.world.at_rest)
        assert poll.seen.empty()


def test_a_question_that_fails_is_asked_again_in_its_time(
    polling: Callable[..., Poll], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-SRC-13: it is logged and counted, and the source says so as long as it lasts."""
    outside = Outside(a=["x"])
    poll = polling(outside)
    with poll.world.running():
        poll.saw(2)
        outside.questions(1)
        outside.failure = RuntimeError("out of order")
        poll.pass_time()
        outside.questions(1)
        poll.world.clock.wait_for_waiters()
        wait_for_health(poll, "RuntimeError: out of order")
        outside.failure, outside.items = None, {"a": ["x", "y"]}
        poll.pass_time()
        assert poll.saw(1) == [("a", ["x", "y"])]
        assert poll.source.healthy() is None
    warnings = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert warnings == ["gadget: source poll: out of order"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (["x"], r"fetch returns a dict of items by ObjectName, not \['x'\]"),
        ({"default/a": ["x"]}, "fetch returns items by ObjectName.*, and 'default/a' is none"),
        ({A: "x"}, "fetch returns a list of items for each primary, not 'x'"),
        ({A: 1}, "fetch returns a list of items for each primary, not 1"),
        ({A: {"id": 1}}, "fetch returns a list of items for each primary, not {'id': 1}"),
    ],
)
def test_an_answer_of_another_shape_is_refused(
    polling: Callable[..., Poll], answer: Any, said: str
) -> None:
    """OP-SRC-13: and is not taken for no items."""
    outside = Outside(a=["x"])
    poll = polling(outside)
    with poll.world.running():
        poll.saw(2)
        outside.answer = answer
        poll.pass_time()
        poll.world.clock.wait_for(lambda: re.search(said, poll.source.healthy() or "") is not None)


def wait_for_health(poll: Poll, expected: str | None) -> None:
    poll.world.clock.wait_for(lambda: poll.source.healthy() == expected)


# A question for each


def test_each_primary_is_asked_about_for_as_long_as_it_is_there(
    polling: Callable[..., Poll],
) -> None:
    """OP-SRC-11, OP-SRC-10"""
    outside = Outside(a=["x"], b=["y"])
    poll = polling(outside, per_resource=True)
    with poll.world.running():
        poll.world.clock.wait_for(lambda: outside.asked.qsize() >= 2)
        poll.world.clock.wait_for(poll.world.at_rest)
        drain(poll)
        outside.items = {"a": ["x"], "b": ["z"]}
        poll.pass_time()
        assert poll.saw(1) == [("b", ["z"])]
        poll.world.delete(gadget("a"))
        poll.world.clock.wait_for(lambda: poll.controller.queue.statistics().known <= 1)
        drain(poll)
        outside.items = {"b": ["q"]}
        poll.pass_time()
        assert poll.saw(1) == [("b", ["q"])]
        drain(poll)
        poll.pass_time()
        assert outside.questions(1) == ["b"]
        assert poll.source.cache.keys() == [B]


def drain(poll: Poll) -> None:
    for found in (poll.outside.asked, poll.seen):
        while not found.empty():
            found.get()


def test_a_primary_is_asked_about_while_it_passes_a_condition(
    polling: Callable[..., Poll],
) -> None:
    """OP-SRC-11: it may come to pass it later, and cease to."""
    outside = Outside(a=["x"], b=["y"])
    poll = polling(outside, per_resource=True, when=lambda obj: obj.spec.size > 1)
    world = poll.world
    poll.recording._answer = None
    with world.running():
        poll.recording.wait_for_runs(2)
        assert outside.asked.empty()
        world.patch(gadget("a"), {"spec": {"size": 2}})
        assert outside.questions(1) == ["a"]
        poll.pass_time()
        assert outside.questions(1) == ["a"]
        world.patch(gadget("a"), {"spec": {"size": 0}})
        world.patch(gadget("b"), {"spec": {"size": 5}})
        assert outside.questions(1) == ["b"]
        poll.pass_time()
        assert outside.questions(1) == ["b"]
        world.clock.wait_for_waiters()
        assert outside.asked.empty()
        assert poll.source.cache.keys() == [B]
        world.patch(gadget("a"), {"spec": {"size": 3}})
        assert outside.questions(1) == ["a"]


def test_an_answer_may_say_when_to_ask_again(polling: Callable[..., Poll]) -> None:
    """OP-SRC-11"""
    outside = Outside(a=["x"])
    outside.period = 3.0
    poll = polling(outside, per_resource=True, when=lambda obj: obj.metadata.name == "a")
    poll.recording._answer = None
    with poll.world.running():
        outside.questions(1)
        poll.pass_time(2.0)
        assert outside.asked.empty()
        poll.pass_time(1.0)
        outside.questions(1)


def test_a_read_asks_once_if_nobody_has_yet(polling: Callable[..., Poll]) -> None:
    """OP-SRC-12: nothing is an answer too."""
    outside = Outside(a=["x"])
    never = polling(outside, per_resource=True, when=lambda _obj: False)
    with never.world.running():
        assert never.saw(2) == [("a", ["x"]), ("b", [])]
        assert sorted(outside.questions(2)) == ["a", "b"]
        for key in (A, B):
            never.controller.trigger(key)
        assert never.saw(2) == [("a", ["x"]), ("b", [])]
        assert outside.asked.empty()
        assert never.source.secondaries(ObjectName("default", "nobody")) == []
        assert outside.asked.empty()


def test_a_read_that_comes_first_does_not_keep_the_questions_from_being_asked(
    make_world: Callable[..., World],
) -> None:
    """OP-SRC-11, OP-SRC-12"""
    world, outside = make_world(gadget("a")), Outside(a=["x"])
    source = poll(outside.of, period=PERIOD, per_resource=True)
    world.manager.controller(Gadget).source(source).build(Recording())
    with world.running():
        outside.questions(1)
        source.cache.replace(A, ["read before"])
        source._asked.clear()
        assert source._started is not None
        source._appeared(source._started.queue, A, gadget("a"))
        assert outside.questions(1) == ["a"]


def test_one_primary_that_cannot_be_asked_about_does_not_stop_the_others(
    polling: Callable[..., Poll],
) -> None:
    """OP-SRC-13, OP-SRC-15: and the source says which it is."""
    outside = Outside(a=["x"], b=["y"])
    poll = polling(outside, per_resource=True, when=lambda obj: obj.metadata.name == "a")
    poll.recording._answer = None
    outside.failure = RuntimeError("no route")
    with poll.world.running():
        outside.questions(1)
        wait_for_health(poll, "default/a: RuntimeError: no route")
        outside.failure = None
        poll.pass_time()
        outside.questions(1)
        wait_for_health(poll, None)
        poll.pass_time()
        outside.questions(1)


def test_several_questions_can_be_asked_at_a_time(polling: Callable[..., Poll]) -> None:
    """OP-SRC-15: one, unless told otherwise."""
    for concurrency in (1, 2):
        outside = Outside()
        outside.go_on.clear()
        poll = polling(outside, per_resource=True, concurrency=concurrency)
        poll.recording._answer = None
        with poll.world.running():
            outside.questions(concurrency)
            threads = [t for t in threading.enumerate() if t.name.startswith("source-poll-")]
            assert len(threads) == concurrency
            assert outside.asked.empty()
            outside.go_on.set()


def test_a_source_that_was_stopped_can_be_started_again(polling: Callable[..., Poll]) -> None:
    """OP-SRC-01"""
    for per_resource in (False, True):
        outside = Outside(a=["x"])
        poll = polling(outside, per_resource=per_resource)
        poll.recording._answer = None
        with poll.world.running():
            outside.questions(1)
            with pytest.raises(AlreadyStartedError):
                poll.source.start(cast("Any", None), cast("Any", None))
            poll.controller.remove_source("poll")
            drain(poll)
            poll.controller.add_source(poll.source)
            outside.questions(1)


def test_what_makes_no_sense_is_refused_where_it_is_written() -> None:
    """OP-SRC-09, OP-SRC-15"""
    outside = Outside()
    with pytest.raises(ConfigError):
        poll(outside.all, period=0)
    with pytest.raises(DeclarationError, match="need per_resource"):
        poll(outside.all, period=1, concurrency=2)  # type: ignore[call-overload]
    with pytest.raises(DeclarationError, match="at least 1"):
        poll(outside.of, period=1, per_resource=True, concurrency=0)


@dataclass(frozen=True)
class Item:
    name: str


@pytest.mark.parametrize(
    "declared",
    [
        lambda: poll(lambda: {A: [Item("x")]}, period=PERIOD, kind=Item),
        lambda: poll(lambda _: [Item("x")], period=PERIOD, per_resource=True, kind=Item),
    ],
    ids=["all", "each"],
)
def test_two_managers_may_use_a_class_that_declares_a_poll(
    make_world: Callable[..., World], declared: Callable[[], Any]
) -> None:
    """OP-SRC-01: each polls for itself, and one that stops leaves the other alone."""
    source, seen = declared(), queue.Queue[tuple[int, list[str]]]()

    @controller(Gadget, sources=[source])
    class Reading:
        def __init__(self, number: int) -> None:
            self.number = number

        def reconcile(self, ctx: Context[Gadget], _obj: Gadget) -> None:
            seen.put((self.number, [item.name for item in ctx.secondaries(Item)]))

    worlds = [make_world(gadget()), make_world(gadget())]
    for number, world in enumerate(worlds):
        world.manager.register(Reading(number))
    with worlds[0].running():
        with worlds[1].running():
            assert sorted(seen.get(timeout=30) for _ in range(2)) == [(0, ["x"]), (1, ["x"])]
        assert source.healthy() is None
