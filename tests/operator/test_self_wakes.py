"""Reconcilers that wake themselves: each run writes something that asks for another."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.operator import Context, Result
from clientgo.operator.client.differences import changed_fields
from tests.operator.world import Gadget, Recording, World, gadget

ANNOTATION = "example.com/last-run"


def stamping(most: int = 10**9) -> Recording:
    """A reconciler whose first runs each write another value into an annotation."""

    def stamp(_ctx: Context[Any], obj: Gadget) -> Result | None:
        if len(recording.runs) > most:
            return None
        obj.metadata.annotations = {ANNOTATION: str(len(recording.runs))}
        return Result.resource(obj)

    recording = Recording(stamp)
    return recording


def test_a_reconciler_that_wakes_itself_is_slowed_down_and_reported(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """An annotation that changes with each run; the log names the field, once."""
    caplog.set_level(logging.WARNING, "clientgo.operator.controller")
    world.create(gadget())
    recording = stamping()
    controller = world.register(recording, default_filter=False)

    def next_wait() -> float:
        return (controller.queue.statistics().next_due or 0.0) - world.clock.monotonic()

    with world.running():
        for runs, pause in ((11, 1), (12, 2), (13, 4), (14, 8)):
            assert len(recording.wait_for_runs(runs)) == runs
            world.clock.wait_for(lambda pause=pause: world.at_rest() and next_wait() == pause)  # type: ignore[misc]
            world.clock.step(pause)
    (line,) = [line for line in caplog.messages if "wakes itself" in line]
    assert f"metadata.annotations['{ANNOTATION}']" in line
    assert "default/a" in line


def test_a_few_writes_of_its_own_are_no_matter(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A reconciler may come to its end in steps; any other event starts the count."""
    world.create(gadget())
    recording = stamping(most=8)
    controller = world.register(recording, default_filter=False)
    with world.running():
        recording.wait_for_runs(9)
        world.wait_for_timer()
        for count in range(10, 30):
            controller.trigger(recording.runs[0])
            recording.wait_for_runs(count)
            world.wait_for_timer()
    assert "wakes itself" not in caplog.text


def test_the_changes_of_others_are_never_slowed_down(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """However quickly they follow each other."""
    world.create(gadget())
    recording = Recording()
    world.register(recording, default_filter=False)
    with world.running():
        for count in range(1, 30):
            recording.wait_for_runs(count)
            world.wait_for_timer()
            world.patch(gadget(), {"metadata": {"annotations": {ANNOTATION: str(count)}}})
    assert "wakes itself" not in caplog.text


def test_changed_fields_are_named_without_what_every_write_changes() -> None:
    old, new = gadget(resource_version="1"), gadget(resource_version="2", generation=3)
    new.spec.size = 7
    new.metadata.labels = {"app.example.com/x": "y"}
    assert changed_fields(old, new) == ["metadata.labels['app.example.com/x']", "spec.size"]
