"""A trace as text, and as a picture for Perfetto."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from clientgo.observe.trace import ChromeTracer, Hop, TextTracer, as_line, by_key, tracing
from clientgo.testing import FakeClock
from clientgo.util.wait import StopEvent
from clientgo.workqueue import RateLimitingQueue, run_workers
from tests.examples.running import printed_by


def test_a_hop_is_one_line() -> None:
    hop = Hop(
        9, 0.25, "Foo handler 1 (enqueue)", "queue.add", "foos", "ns/x", "", {"outcome": "new"}
    )

    assert as_line(hop).split() == [
        "0.250000s", "Foo", "handler", "1", "queue.add", "foos", "ns/x", "outcome=new"
    ]  # fmt: skip


def test_hops_are_blocks_by_key() -> None:
    hops = [
        Hop(1, 0.1, "t", "queue.add", "foos", "ns/x", "", {"outcome": "new"}),
        Hop(2, 0.2, "t", "queue.add", "foos", "ns/y", "", {"outcome": "new"}),
        Hop(3, 0.3, "t", "watch.opened", "Foo"),
        Hop(4, 0.4, "t", "index.update", "Foo", "ns/x", "7", {"action": "add"}),
        Hop(5, 0.5, "t", "sync.end", "foos", "ns/x", "", {"error": "", "seconds": 0.5}),
        Hop(6, 0.6, "t", "fifo.pop", "Foo", "ns/x", "8", {"deltas": ["Added", "Updated"]}),
    ]

    lines = [" ".join(line.split()) for line in by_key(hops).splitlines()]
    assert lines == [
        "ns/x",
        "0.100000s queue.add foos outcome=new",
        "0.400000s index.update Foo @7 action=add",
        "0.500000s sync.end foos seconds=0.5",
        "0.600000s fifo.pop Foo @8 deltas=Added+Updated",
        "",
        "ns/y",
        "0.200000s queue.add foos outcome=new",
    ]


@pytest.fixture
def events() -> list[dict[str, Any]]:
    """The events of two syncs, one of which fails, and of a watch."""
    stream, stop, clock = io.StringIO(), StopEvent(), FakeClock(start=10.0)

    def sync(key: str) -> None:
        clock.step(0.5)
        if key == "bad":
            raise ValueError("no")
        stop.set()

    with tracing(ChromeTracer(stream), clock=clock) as trace:
        queue = RateLimitingQueue[str](name="foos")
        trace.note("watch.opened", "Foo", None, "7")
        queue.add("bad")
        queue.add("good")
        run_workers(stop, queue, sync, workers=1)
    loaded: list[dict[str, Any]] = json.loads(stream.getvalue())
    return loaded


def test_a_picture_has_a_named_row_for_each_thread(events: list[dict[str, Any]]) -> None:
    rows = {event["args"]["name"] for event in events if event["name"] == "thread_name"}

    assert {"MainThread", "worker-1"} <= rows
    for event in events:
        assert {"ph", "pid", "tid", "name"} <= event.keys()
        assert event["ph"] == "M" or event["ts"] >= 0


def test_a_sync_is_a_span_and_a_watch_an_instant(events: list[dict[str, Any]]) -> None:
    spans = [event for event in events if event["name"].startswith("sync ")]

    assert [(s["ph"], s["name"], s["ts"], s["dur"]) for s in spans] == [
        ("X", "sync bad", 0.0, 500_000.0),
        ("X", "sync good", 500_000.0, 500_000.0),
    ]
    assert spans[0]["args"]["error"] == "ValueError: no"
    assert [event["name"] for event in events if event["ph"] == "i"] == ["watch.opened"]


def test_arrows_follow_a_key_from_its_add_to_its_end(events: list[dict[str, Any]]) -> None:
    """Each begins once, ends at most once, and joins slices: they are at the time of one."""
    slices = {(e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    arrows = [event for event in events if event["ph"] in "stf"]
    good = [e["ph"] for e in arrows if e["id"] == 2]

    assert all((arrow["tid"], arrow["ts"]) in slices for arrow in arrows)
    assert good[0] == "s"
    assert good[-1] == "f"
    assert set(good[1:-1]) == {"t"}


def test_the_arrow_of_an_event_ends_where_its_handler_adds_a_key() -> None:
    """There the arrow of that key begins, which may be another one."""
    stream = io.StringIO()
    tracer = ChromeTracer(stream)
    tracer.began(0.0)
    for n, (thread, hop, of, key) in enumerate(
        [
            ("reflector", "watch.event", "Deployment", "ns/d"),
            ("handler", "handler.call", "Deployment", "ns/d"),
            ("worker", "cache.get", "Deployment", "ns/d"),  # a reader moves nothing
            ("handler", "queue.add", "foos", "ns/x"),
            ("worker", "queue.get", "foos", "ns/x"),
        ],
        start=1,
    ):
        tracer.hop(Hop(n, n / 10, thread, hop, of, key))
    tracer.ended()

    arrows = [event for event in json.loads(stream.getvalue()) if event["ph"] in "stf"]
    assert [(arrow["ph"], arrow["id"], round(arrow["ts"])) for arrow in arrows] == [
        ("s", 1, 100_000),
        ("t", 1, 200_000),
        ("f", 1, 400_000),
        ("s", 2, 400_000),
        ("t", 2, 500_000),
    ]


def test_a_text_tracer_writes_each_hop_as_it_happens() -> None:
    stream = io.StringIO()
    with tracing(TextTracer(stream)):
        queue = RateLimitingQueue[str](name="foos")
        queue.add("a")

    assert "queue.add" in stream.getvalue()
    assert stream.getvalue().endswith("outcome=new\n")


def test_the_example_prints_the_way_of_a_key(tmp_path: Path) -> None:
    lines = printed_by("trace_a_key", "--json", str(tmp_path / "trace.json"))

    assert lines[0] == "default/example-foo"
    assert "watch.event" in lines[1]
    # The status that a sync wrote may lead to a further one, which is under way at the end.
    assert any("queue.done" in line for line in lines)
    assert json.loads((tmp_path / "trace.json").read_text())
