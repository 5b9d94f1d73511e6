"""What follows when a run has failed, as the log tells it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.operator import Context, ErrorResult, Result, TerminalError
from tests.operator.world import Gadget, Recording, World, gadget

LOGGER = "clientgo.operator.reconcile"


def records_of(world: World, recording: Any, caplog: Any, level: int) -> list[logging.LogRecord]:
    """What one failed run logs at a level and above it."""
    world.create(gadget())
    controller = world.register(recording)
    with caplog.at_level(level, LOGGER), world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().known == 1)
        world.wait_for_timer()
    return [
        record
        for record in caplog.records
        if record.name == LOGGER and "told by Events only" not in record.message
    ]


def raising(error: Exception) -> Recording:
    def answer(_ctx: Context[Any], _obj: Gadget) -> None:
        raise error

    return Recording(answer)


def test_a_failure_that_is_tried_again_is_one_warning(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: without a traceback."""
    (record,) = records_of(world, raising(ValueError("no disk")), caplog, logging.INFO)
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert record.message == "default/a: failed, trying again in 2 s: no disk"


def test_at_debug_the_warning_has_its_traceback(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: in the same record, so that there is one for each failure."""
    records = records_of(world, raising(ValueError("no disk")), caplog, logging.DEBUG)
    (record,) = [record for record in records if record.levelno > logging.DEBUG]
    assert record.exc_info


class NoPoint(Recording):
    """Says itself that nobody needs to try again."""

    def reconcile(self, ctx: Context[Any], obj: Gadget) -> Result | None:
        super().reconcile(ctx, obj)
        raise ValueError("no")

    def on_error(self, _ctx: Context[Any], _obj: Gadget, _error: Exception) -> ErrorResult:
        return ErrorResult.default().no_retry()


@pytest.mark.parametrize("reconciler", [raising(TerminalError("no")), NoPoint()])
def test_a_failure_for_good_is_an_error_with_its_traceback(
    world: World, caplog: pytest.LogCaptureFixture, reconciler: Any
) -> None:
    """OP-RTY-23, OP-RTY-14, BP-26"""
    (record,) = records_of(world, reconciler, caplog, logging.INFO)
    assert (record.levelno, bool(record.exc_info)) == (logging.ERROR, True)


def test_a_conflict_is_told_quietly(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """OP-RTY-23, OP-RTY-13"""

    def change(_ctx: Context[Any], obj: Gadget) -> Result | None:
        if len(recording.runs) > 1:
            return None
        world.patch(obj, {"metadata": {"labels": {"changed": "yes"}}})
        obj.spec.size = 5
        return Result.resource(obj)

    recording = Recording(change)
    (record,) = records_of(world, recording, caplog, logging.INFO)
    assert (record.levelno, record.exc_info) == (logging.INFO, None)
