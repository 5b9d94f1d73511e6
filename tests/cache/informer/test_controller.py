"""The loop between a queue and what processes its entries, without a server."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    HandlerFuncs,
    Indexer,
    QueueChoice,
    SharedIndexInformer,
    new_informer,
)
from clientgo.cache.informer.controller import Controller
from clientgo.cache.reflector.reflector import Reflector
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import Foo, foo, refs
from tests.cache.queue_entries import drain
from tests.cache.running import Notes, no_delays, running


@pytest.mark.parametrize("choice", [DELTA_FIFO, REAL_FIFO])
def test_what_is_queued_is_processed_in_one_batch(choice: QueueChoice) -> None:
    """CTL-03: all queues have batches, so there is only one path."""
    store: Indexer[Foo] = Indexer()
    queue = choice.make(store)
    for name in "abc":
        queue.add(foo(name))
    batches = Notes()
    reflector = Reflector(FakeSource(), queue, delays=no_delays())
    controller = Controller(queue, reflector, lambda batch, _: batches(len(batch)))

    with running(controller):
        batches.wait_for_count(1)

    assert batches.notes[0] == 3


def test_an_object_that_cannot_be_processed_is_reported_with_its_key_and_costs_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CTL-02: client-go discards the error."""

    def refuse_bad(obj: Any) -> list[str]:
        if obj.metadata.name == "bad":
            raise ValueError("no index for it")
        return ["good"]

    recorder = Notes()
    store, controller = new_informer(
        FakeSource([foo(name) for name in ("a", "bad", "c")]),
        HandlerFuncs(on_add=recorder),
        Foo,
        indexers={"goodness": refuse_bad},
        delays=no_delays(),
    )

    with caplog.at_level(logging.WARNING), running(controller):
        recorder.wait_for_count(2)

    assert refs(store.list()) == refs(recorder.notes) == ["a@1", "c@3"]
    assert "ns/bad" in caplog.text


def test_an_informer_runs_on_delta_fifo_unless_it_is_given_another_queue() -> None:
    """GAT-01, GAT-03: in client-go, feature gates choose, and RealFIFO is the default."""
    changes = [foo("a", 1), foo("b", 2), foo("a", 3)]
    assert SharedIndexInformer.__init__.__kwdefaults__["queue"] is DELTA_FIFO

    order = {}
    for choice in (DELTA_FIFO, REAL_FIFO):
        queue = choice.make(Indexer[Foo]())
        for obj in changes:
            queue.add(obj)
        order[choice] = drain(queue)

    assert order[DELTA_FIFO] == [["Added a@1", "Added a@3"], ["Added b@2"]]
    assert order[REAL_FIFO] == [["Added a@1"], ["Added b@2"], ["Added a@3"]]


@pytest.mark.parametrize(
    ("choice", "queued"),
    [
        (DELTA_FIFO, [["Replaced a@1"], ["Deleted †ns/known(known@1)"]]),
        (REAL_FIFO, [["ReplacedAll a@1 @5"], ["Bookmark 6"]]),
    ],
)
def test_the_choice_decides_on_known_objects_atomic_lists_and_bookmarks(
    choice: QueueChoice, queued: list[list[str]]
) -> None:
    """GAT-03."""
    store: Indexer[Foo] = Indexer()
    store.add(foo("known"))
    queue = choice.make(store)

    queue.replace([foo("a")], "5")
    bookmark = getattr(queue, "bookmark", None)
    if bookmark is not None:
        bookmark("6")

    assert drain(queue) == queued


def test_a_reflector_works_without_a_single_option() -> None:
    """RFL-01: it is not named after its caller's file, as in client-go."""
    store: Indexer[Foo] = Indexer()
    reflector = Reflector(FakeSource([foo("a")]), store)
    stored = Notes()
    store.replace, replace = lambda *args: (replace(*args), stored(args)), store.replace  # type: ignore[method-assign]

    with running(reflector):
        stored.wait_for_count(1)

    assert reflector.name == "reflector"
    assert refs(store.list()) == ["a@1"]


def test_a_reflector_takes_a_name_and_a_description_for_its_errors() -> None:
    """RFL-01."""
    source = FakeSource()
    source.fail("list", OSError("gone"))
    errors = Notes()
    reflector = Reflector(
        source,
        Indexer[Foo](),
        name="pods of web",
        description="Pod",
        delays=no_delays(),
        stream_initial_list=False,
        on_error=errors,
    )

    with running(reflector):
        errors.wait_for_count(1)

    assert reflector.name == "pods of web"
    assert "Pod" in str(errors.notes[0])
