"""Replaying recorded operations on a work queue of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import DelayingQueue, DelayingQueueStatistics, Queue, RateLimitingQueue
from clientgo.workqueue.states import State
from tests.background import Background
from tests.vectors.durations import seconds


class WorkqueueReplay:
    """Runs the steps of a case, in one thread, and in threads of their own where they may block.

    `threads` is how many threads of the queue wait for time all the while.
    """

    def __init__(self, queue: Queue[str], clock: FakeClock, *, threads: int = 0) -> None:
        self.queue = queue
        self.clock = clock
        self._threads = threads
        self._gets: dict[str, Background[Any]] = {}
        self._drains: dict[str, Background[Any]] = {}

    def run(self, steps: list[dict[str, Any]]) -> None:
        try:
            for step in steps:
                self.check(step, self.apply(step))
        finally:
            self.queue.shut_down()

    def apply(self, step: dict[str, Any]) -> dict[str, Any]:
        """Apply a step, let everything come to rest and return what there was to see."""
        seen = self._apply(step["op"], step.get("args", {}))
        self._resolve(self._gets, step["expect"].get("resolved_gets", {}))
        self._resolve(self._drains, step["expect"].get("returned_drains", []))
        self.clock.wait_for(self._is_at_rest)
        return seen | {"len": len(self.queue), "shutting_down": self.queue.shutting_down}

    def check(self, step: dict[str, Any], seen: dict[str, Any]) -> None:
        for name, expected in step["expect"].items():
            match name:
                case "upstream_order":
                    pass
                case "items_any_order":
                    assert sorted(seen[name]) == sorted(expected)
                case "resolved_gets":
                    for get_id, answer in expected.items():
                        result = self._gets.pop(get_id).result()
                        assert result == (answer["item"], answer["shutdown"])
                case "returned_drains":
                    for drain_id in expected:
                        del self._drains[drain_id]
                case _:
                    assert seen[name] == expected, (step, name)

    def _apply(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        queue, item = self.queue, args.get("item")
        match op:
            case "add":
                queue.add(item)
            case "get":
                assert len(queue) or queue.shutting_down, "this get would block"
                taken, shutdown = queue.get()
                return {"item": taken, "shutdown": shutdown}
            case "done":
                self._list_again_as_client_go_does(item)
                queue.done(item)
            case "len":
                return {"result": len(queue)}
            case "shut_down":
                queue.shut_down()
            case "get_async":
                self._gets[args["id"]] = Background(queue.get)
            case "shut_down_with_drain_async":
                self._drains[args["id"]] = Background(queue.shut_down_with_drain)
            case "get_done_many":
                items = [queue.get()[0] for _ in range(args["count"])]
                for taken in items:
                    queue.done(taken)
                return {"items_any_order": items}
            case "advance":
                self.clock.run_for(seconds(args["ns"]), self._is_at_rest)
            case _:
                return self._apply_later(op, args)
        return {}

    def _apply_later(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        queue, item = self.queue, args.get("item")
        match op:
            case "add_after":
                assert isinstance(queue, DelayingQueue)
                queue.add_after(item, seconds(args["delay_ns"]))
            case "add_rate_limited":
                assert isinstance(queue, RateLimitingQueue)
                queue.add_rate_limited(item)
            case "forget":
                assert isinstance(queue, RateLimitingQueue)
                queue.forget(item)
            case "num_requeues":
                assert isinstance(queue, RateLimitingQueue)
                return {"result": queue.num_requeues(item)}
            case unknown:
                pytest.fail(f"unknown operation {unknown}")
        return {}

    def _list_again_as_client_go_does(self, item: str) -> None:
        """Put back what ours deliberately does not do at a stray done; see `differences`."""
        if self.queue._states.get(item) is State.READY:
            self.queue._ready.push(item)

    def _resolve(self, calls: dict[str, Background[Any]], expected: Any) -> None:
        for call_id in expected:
            calls[call_id].result()

    def _is_at_rest(self) -> bool:
        """Tell whether all that may block does, and the queue's threads wait for what is next."""
        statistics = self.queue.statistics()
        if statistics.idle_getters != _running(self._gets):
            return False
        if statistics.drains != _running(self._drains):
            return False
        threads = 0 if statistics.shutting_down else self._threads
        if isinstance(statistics, DelayingQueueStatistics) and statistics.next_due is not None:
            next_wake_up = self.clock.next_deadline()
            if next_wake_up is None or not (
                self.clock.monotonic() < statistics.next_due and next_wake_up <= statistics.next_due
            ):
                return False
            threads += 1
        return self.clock.waiters() == threads


def _running(calls: dict[str, Background[Any]]) -> int:
    return sum(call.is_running for call in calls.values())
