"""The hops of the operator layer: a manager is traced without a word in its reconcilers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.observe.trace import Recorder, tracing
from clientgo.operator import Context
from tests.operator.world import Gadget, Recording, World, gadget, part

KEY = "default/a"


@contextmanager
def traced(reconcile: Any) -> Iterator[tuple[World, Recorder]]:
    """Run a manager with one controller, until the end of the block."""
    recorder = Recorder()
    with tracing(recorder):
        world = World(gadget())
        world.register(reconcile)
        try:
            with world.running():
                yield world, recorder
        finally:
            world.close()


def create_part(ctx: Context[Any], _obj: Gadget) -> None:
    ctx.client.create(part())


class Coroutine:
    async def reconcile(self, ctx: Context[Any], _obj: Gadget) -> None:
        await ctx.aclient.create(part())


@pytest.mark.parametrize("reconciler", [Recording(create_part), Coroutine()])
def test_a_run_is_a_sync_with_its_requests(reconciler: Any) -> None:
    """Also if it is a coroutine, whose requests are sent by other threads."""
    with traced(reconciler) as (_, recorder):
        recorder.wait_for(lambda hop: hop.hop == "queue.done")

    add = recorder.hops("queue.add", key=KEY)[0]
    assert {"index.update", "handler.call"} <= {
        hop.hop for hop in recorder.hops(key=KEY) if hop.n < add.n
    }
    names = [hop.hop for hop in recorder.hops(of=add.of, key=KEY)]
    assert names[: names.index("queue.done") + 1] == [
        "queue.add",
        "queue.get",
        "sync.start",
        "request.sent",
        "request.answered",
        "sync.end",
        "queue.add_after",  # looks again after some hours
        "queue.done",
    ]
    sync = recorder.hops("sync.end", key=KEY)[0]
    assert sync.of == recorder.hops("queue.get", key=KEY)[0].of == "gadget"
    assert sync.details["error"] == ""
    request = recorder.hops("request.sent", key=KEY)[0].details
    assert (request["method"], "/parts" in request["path"]) == ("POST", True)


def test_a_run_that_fails_says_why_and_when_it_is_tried_again() -> None:
    """The back-off is a delay: the run queue schedules the object itself."""

    def reconcile(_ctx: Context[Any], _obj: Gadget) -> None:
        raise ValueError("no")

    with traced(Recording(reconcile)) as (world, recorder):
        first = recorder.wait_for(lambda hop: hop.hop == "sync.end")
        world.wait_for_timer()
        world.clock.step(3600.0)
        recorder.wait_for(lambda hop: hop.hop == "sync.start", after=first.n)

    ends = recorder.hops("sync.end", key=KEY)
    assert ends[0].details["error"] == "ValueError: no"
    assert recorder.hops("queue.add_after", key=KEY)[0].details["delay"] > 0
    again = [hop.hop for hop in recorder.hops("queue.", key=KEY, after=ends[0].n)]
    assert again[:4] == ["queue.add_after", "queue.done", "queue.add", "queue.get"]
