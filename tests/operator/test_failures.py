"""What follows when a run has failed, as the log tells it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from clientgo.meta import (
    InternalServerError,
    NotFoundError,
    ObjectMeta,
    ObjectName,
    Resource,
    resource,
)
from clientgo.operator import Context, ErrorResult, Result, Retry, TerminalError
from clientgo.testcluster.server.faults import FailRequests, Requests
from tests.operator.world import Gadget, GadgetSpec, GadgetStatus, Recording, Watcher, World, gadget

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
        if record.name == LOGGER and "reported by Events only" not in record.message
    ]


def failures_of(
    world: World, recording: Any, caplog: Any, level: int, *, runs: int
) -> list[logging.LogRecord]:
    """What so many failed runs log as warnings."""
    world.create(gadget())
    world.register(recording)
    with caplog.at_level(level, LOGGER), world.running():
        for number in range(1, runs + 1):
            world.clock.wait_for(partial(_has_run, recording, number))
            world.wait_for_timer()
            if number < runs:
                world.clock.step(60.0)
    return [record for record in caplog.records if record.levelno == logging.WARNING]


def _has_run(recording: Any, times: int) -> bool:
    return len(recording.runs) == times


def raising(error: Exception) -> Recording:
    def answer(_ctx: Context[Any], _obj: Gadget) -> None:
        raise error

    return Recording(answer)


def test_a_failure_that_is_tried_again_is_one_warning(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: the first with its type and a traceback, in the same record."""
    (record,) = records_of(world, raising(KeyError("disk")), caplog, logging.INFO)
    assert (record.levelno, bool(record.exc_info)) == (logging.WARNING, True)
    assert record.message == "default/a: failed, trying again in 2 s: KeyError: 'disk'"


@pytest.mark.parametrize(("level", "detailed"), [(logging.INFO, False), (logging.DEBUG, True)])
def test_later_failures_are_one_line_and_have_a_traceback_at_debug(
    world: World, caplog: pytest.LogCaptureFixture, level: int, detailed: bool
) -> None:
    """OP-RTY-23"""
    records = failures_of(world, raising(ValueError("no disk")), caplog, level, runs=3)
    assert [bool(record.exc_info) for record in records] == [True, detailed, detailed]


def test_a_retry_that_is_asked_for_is_logged_again_only_when_its_message_changes(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: waiting for something is one line, and no traceback."""
    reasons = iter(["no disk", "no disk", "no network", "no network"])

    def wait(_ctx: Context[Any], _obj: Gadget) -> None:
        raise Retry(next(reasons), after=1)

    records = failures_of(world, Recording(wait), caplog, logging.INFO, runs=4)
    assert [record.message.rpartition(": ")[2] for record in records] == ["no disk", "no network"]
    assert not any(record.exc_info for record in records)


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


def test_a_clean_up_that_fails_is_told_as_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: it says why the object does not go."""

    class Holding(Recording):
        def cleanup(self, _ctx: Context[Any], _obj: Gadget) -> None:
            raise OSError("no bucket")

    holding = Holding()
    world.create(gadget())
    world.register(holding)
    with world.running():
        holding.wait_for_runs(1)
        world.delete(gadget())
        world.clock.wait_for(lambda: "the clean-up failed" in caplog.text)
    assert "default/a: the clean-up failed, trying again in 2 s: OSError: no bucket" in caplog.text


def test_an_object_that_is_deleted_during_a_run_is_no_warning(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23, BP-31: its last write finds nothing, which is nothing to report either."""

    def finish(_ctx: Context[Any], obj: Gadget) -> Result:
        world.delete(obj)
        obj.spec.size = 5
        return Result.resource(obj)

    caplog.set_level(logging.INFO, LOGGER)
    world.create(gadget())
    controller = world.register(Recording(finish))
    with world.running():
        world.clock.wait_for(lambda: "deleted during the run" in caplog.text)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert world.writes() == ["patch gadgets default/a"]


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


class Answering(Recording):
    """Fails, and answers with what it is given."""

    def __init__(self, answer: Any) -> None:
        super().__init__(self._fail)
        self._error_answer = answer

    def _fail(self, _ctx: Context[Any], _obj: Gadget) -> None:
        raise ValueError("no disk")

    def on_error(self, _ctx: Context[Any], obj: Gadget, _error: Exception) -> Any:
        return self._error_answer(obj)


def _status_that_cannot_be_sent(obj: Gadget) -> ErrorResult:
    obj.status = GadgetStatus(ready=object())  # type: ignore[arg-type]
    return ErrorResult.status(obj)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _obj: True, "on_error returns an ErrorResult or None, not True"),
        (_status_that_cannot_be_sent, "the status of the failure cannot be written"),
    ],
)
def test_a_wrong_answer_of_on_error_is_logged_and_the_object_is_retried(
    world: World, caplog: pytest.LogCaptureFixture, answer: Any, said: str
) -> None:
    """OP-RTY-11: it does not stop the manager, or replace the failure."""
    about_it, failure = records_of(world, Answering(answer), caplog, logging.WARNING)
    assert said in caplog.text
    assert (about_it.levelno, failure.levelno) == (logging.ERROR, logging.WARNING)
    assert failure.message == "default/a: failed, trying again in 2 s: ValueError: no disk"


@pytest.mark.parametrize(
    "error",
    [TimeoutError("the quota service"), Retry("not yet", after=2), InternalServerError.of("")],
)
def test_a_validation_that_cannot_be_made_is_tried_again(
    world: World, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """OP-REC-05: only what is wrong with the object waits for an edit of it."""

    class Asking(Recording):
        def validate(self, _obj: Gadget, _old: Gadget | None, _operation: object) -> None:
            if not self.runs:
                self.runs.append(ObjectName.of(_obj))
                raise error

    recording = Asking()
    world.create(gadget())
    world.register(recording)
    with world.running():
        world.wait_for_timer()
        world.clock.step(3.0)
        recording.wait_for_runs(2)


@resource(group="example.com", version="v1", plural="gadgets", kind="Gadget")
class Statusless(Resource):
    """The kind as an older release of the operator declared it."""

    spec: GadgetSpec = GadgetSpec()


def test_a_missing_status_subresource_is_no_deleted_object(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-23: the API server answers both with the same 404."""

    def report(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.status = GadgetStatus(ready=1)
        return Result.status(obj)

    world = make_world(kinds=(Statusless,))
    (record,) = records_of(world, Recording(report), caplog, logging.INFO)
    assert record.levelno == logging.WARNING
    assert "gadgets.example.com v1 has no subresource 'status' in the cluster" in record.message


def test_a_status_of_an_object_that_is_gone_is_not_found(world: World) -> None:
    world.create(gadget())
    there = world.get(Gadget)
    world.delete(there)
    there.status = GadgetStatus(ready=1)
    with world.running(), pytest.raises(NotFoundError, match='"a" not found'):
        world.manager.client.status.update(there)


def test_a_note_that_meets_a_newer_version_is_no_warning(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-13: as after a run that has written the object itself; it runs again."""
    world = make_world(Watcher(metadata=ObjectMeta(name="a", namespace="default")))
    writes = iter([True])

    def write(ctx: Context[Any], obj: Watcher) -> None:
        if next(writes, False):
            obj.spec.size = 7
            ctx.client.update(obj)

    world.manager.controller(Watcher).build(Recording(write))
    with caplog.at_level(logging.INFO, LOGGER), world.running():
        world.clock.wait_for(lambda: "the status of the success was not written" in caplog.text)
    assert {record.levelno for record in caplog.records if record.name == LOGGER} == {logging.INFO}


def test_a_note_that_meets_another_404_is_written_later(
    make_world: Callable[..., World],
) -> None:
    """OP-RTY-13: only an answer that names the object says that it is gone."""
    world = make_world(Watcher(metadata=ObjectMeta(name="a", namespace="default")))
    for verb, name in (("patch", "watchers/status"), ("get", "watchers")):
        world.server.inject(FailRequests(requests=Requests((verb,), name), status=404))
    world.manager.controller(Watcher).build(Recording())
    with world.running():
        world.wait_for_timer()
        assert world.get(Watcher).status is None
        world.run_for(2)
    assert world.get(Watcher).status.observed_generation == 1
