"""The cycle of a run as Red Hat's best practices have it, and how users learn how it ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.events_v1 import Event
from clientgo.meta import (
    InternalServerError,
    ObjectMeta,
    ObjectName,
    OwnerReference,
    Resource,
    resource,
)
from clientgo.meta.timestamps import format_time
from clientgo.operator import Result, TerminalError, retry
from clientgo.operator.client.events import ObjectEvents
from clientgo.operator.errors import AlreadyOwnedError, ConfigError
from clientgo.operator.retry import RetryState
from clientgo.operator.status import Conditioned, ObservedGeneration, has_status_fields, status_of
from clientgo.operator.status_report import (
    BestPracticeReporter,
    ReconcileStatus,
    ReportedStatus,
    StatusReporter,
)
from tests.operator.world import Gadget, GadgetSpec, Recording, World, gadget

A = ObjectName("default", "a")
OURS = "gadgets.example.com/finalizer"


class ReportStatus(ReconcileStatus):
    observed_generation: int | None = None


class WideStatus(ReportedStatus):
    ready: int = 0


@resource(group="example.com", version="v1", plural="wides")
class Wide(Resource):
    status: WideStatus | None = None


@resource(group="example.com", version="v1", plural="reports")
class Report(Resource):
    """A primary whose status says how its last run ended."""

    spec: GadgetSpec = GadgetSpec()
    status: ReportStatus | None = None


def report(name: str = "a") -> Report:
    return Report(metadata=ObjectMeta(name=name, namespace="default"))


def failing(*errors: Exception) -> Recording:
    """Raises each of the errors in turn, then succeeds."""
    left = list(errors)

    def answer(_ctx: Any, _obj: Any) -> None:
        if left:
            raise left.pop(0)

    return Recording(answer)


@pytest.fixture
def reports(make_world: Callable[..., World]) -> World:
    """A world with one report in it."""
    return make_world(report(), kinds=(Report,))


# The order of a run


class Cycle:
    """Notes what is called; ``valid`` and ``to_initialise`` decide what it answers."""

    def __init__(self, *, valid: bool = True, to_initialise: int = 0) -> None:
        self.called: list[str] = []
        self.valid = valid
        self.to_initialise = to_initialise

    def validate(self, _obj: Gadget, _old: Gadget | None, _operation: str) -> None:
        self.called.append("validate")
        if not self.valid:
            raise ValueError("size must not be 1")

    def initialise(self, obj: Gadget) -> bool:
        self.called.append("initialise")
        self.to_initialise -= 1
        obj.spec.size += self.to_initialise >= 0
        return self.to_initialise >= 0

    def reconcile(self, _ctx: Any, _obj: Gadget) -> None:
        self.called.append("reconcile")

    def cleanup(self, _ctx: Any, _obj: Gadget) -> None:
        self.called.append("cleanup")


def test_a_run_has_its_order(world: World) -> None:
    """BP-01, BP-09, OP-REC-05, OP-REC-10: what has to be written ends the pass; between reading and
    reconciling nothing else is written."""
    world.create(gadget())
    cycle = Cycle(to_initialise=1)
    world.register(cycle)
    with world.running():
        world.clock.wait_for(lambda: "reconcile" in cycle.called)
        world.wait_for_timer()
    assert cycle.called == ["validate", "initialise", "validate", "initialise", "reconcile"]
    assert world.writes() == ["patch gadgets default/a", "patch gadgets default/a"]


def test_an_invalid_object_is_told_of_once_and_not_tried_again(world: World) -> None:
    """BP-04, BP-26, BP-20: one Event for each generation; an edit runs it again."""
    world.create(gadget())
    cycle = Cycle(valid=False)
    controller = world.register(cycle, max_interval=100)
    with world.running():
        world.wait_for_timer()
        world.clock.step(100)
        world.clock.wait_for(lambda: len(cycle.called) >= 2)
        world.wait_for_timer()
        assert controller.queue.statistics().exhausted == 1
        cycle.valid = True
        world.patch(gadget(), {"spec": {"size": 3}})
        world.clock.wait_for(lambda: "reconcile" in cycle.called)
    (event,) = world.client.resource(Event).namespace("default").list().items
    assert (event.type, event.reason) == ("Warning", "ProcessingError")
    assert event.note == "size must not be 1"
    assert event.series is None, "it was told once"


def test_an_invalid_object_can_be_deleted(world: World) -> None:
    """BP-04, BP-01, BP-08: its deletion is judged first."""
    obj = gadget(finalizers=(OURS,))
    world.create(obj)
    world.delete(obj)
    cycle = Cycle(valid=False)
    controller = world.register(cycle)
    with world.running():
        world.clock.wait_for(lambda: bool(cycle.called))
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert cycle.called == ["cleanup"]


def test_an_initialisation_that_does_not_settle_is_a_bug(world: World) -> None:
    """BP-05, BP-26: after three in a row nobody tries again."""
    world.create(gadget(finalizers=(OURS,)))
    cycle = Cycle(to_initialise=100)
    cycle.initialise = lambda obj: obj.metadata.labels.update(n=str(len(cycle.called))) is None  # type: ignore[method-assign]
    controller = world.register(cycle)
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert world.writes() == ["patch gadgets default/a"] * 3
    assert "reconcile" not in cycle.called


def test_an_initialisation_that_does_not_say_whether_it_changed_something_is_a_bug(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """BP-05: what it changed would not be written."""
    world.create(gadget(finalizers=(OURS,)))
    cycle: Any = Cycle()
    cycle.initialise = lambda obj: obj.metadata.labels.update(new="")
    controller = world.register(cycle)
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert world.writes() == []
    assert "reconcile" not in cycle.called
    assert (
        "gadget: initialise returns True if it changed the object, False if not; it returned None"
    ) in caplog.text


# How users learn of it


def test_a_failure_is_told_then_noted_then_tried_again(
    reports: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BP-10, BP-13, BP-15, BP-20: an Event, the status, and the delay of two seconds."""
    told: list[str] = []
    warn = ObjectEvents.warning

    def warning(events: ObjectEvents, reason: str, note: str) -> None:
        told.append(f"{reason}: {note}")
        warn(events, reason, note)

    monkeypatch.setattr(ObjectEvents, "warning", warning)
    reports.asked.before = lambda action: action.subresource and told.append(action.subresource)
    recording = failing(ValueError("no disk"))
    reports.register(recording, Report, retry=retry.best_practice())
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
        assert told == ["ProcessingError: no disk", "status"]
        status = reports.get(Report).status
        assert (status.status, status.reason) == ("Failure", "no disk")
        assert status.last_update == "2000-01-01T00:00:00Z"
        assert status.observed_generation is None, "it was not reconciled"
        reports.clock.step(2)
        recording.wait_for_runs(2)
        reports.wait_for_timer()
    status = reports.get(Report).status
    assert (status.status, status.reason, status.observed_generation) == ("Success", "", 1)
    assert status.last_update == "2000-01-01T00:00:02Z"
    assert reports.writes() == ["patch reports/status default/a"] * 2


def test_a_success_is_noted_once(reports: World) -> None:
    """BP-14: a status that says so already is left alone."""
    recording = Recording()
    controller = reports.register(recording, Report)
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
        reports.clock.step(50)
        controller.trigger(A)
        recording.wait_for_runs(2)
        reports.wait_for_timer()
    assert reports.writes() == ["patch reports/status default/a"]


def test_a_reconciler_of_names_has_its_notes_too(reports: World) -> None:
    """BP-13, BP-14, OP-STS-02: a failure, and that it is over."""
    runs: list[ObjectName] = []

    class ByName:
        def reconcile_key(self, _ctx: Any, key: ObjectName) -> None:
            runs.append(key)
            if len(runs) == 1:
                raise ValueError("no disk")

    reports.register(ByName(), Report)
    with reports.running():
        reports.wait_for_timer()
        assert reports.get(Report).status.status == "Failure"
        reports.clock.step(2)
        reports.clock.wait_for(lambda: len(runs) == 2)
        reports.wait_for_timer()
    status = reports.get(Report).status
    assert (status.status, status.observed_generation) == ("Success", 1)


def test_a_heartbeat_notes_successes_anew(reports: World) -> None:
    """BP-14: when the last note is old enough."""
    recording = Recording()
    reporter = BestPracticeReporter(heartbeat=30)
    controller = reports.register(recording, Report, reporter=reporter)
    with reports.running():
        for run, pause in enumerate((0, 29, 1), start=1):
            reports.clock.step(pause)
            controller.trigger(A)
            recording.wait_for_runs(run)
            reports.wait_for_timer()
    assert len(reports.writes()) == 2
    assert reports.get(Report).status.last_update == "2000-01-01T00:00:30Z"


def test_the_note_goes_with_the_status_that_the_reconciler_writes(reports: World) -> None:
    """BP-14, OP-STS-04: in one request."""

    def answer(_ctx: Any, obj: Report) -> Result:
        status_of(obj)
        return Result.status(obj)

    recording = Recording(answer)
    reports.register(recording, Report)
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
    assert reports.writes() == ["patch reports/status default/a"]
    assert reports.get(Report).status.status == "Success"


def test_a_status_without_the_fields_is_left_alone(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """BP-11, BP-12: an Event all the same; that nothing is noted is said once for the kind."""
    world.create(gadget())
    owner = OwnerReference(api_version="v1", kind="Gadget", name="other", uid="1")
    errors = [ValueError("1"), AlreadyOwnedError(gadget(), owner), ValueError("3")]
    recording = failing(*errors)
    world.register(recording)
    with world.running(), caplog.at_level(logging.INFO, "clientgo.operator.reconcile"):
        for count in (1, 2, 3):
            recording.wait_for_runs(count)
            world.wait_for_timer()
            world.clock.step(5)
        recording.wait_for_runs(4)
    assert world.writes() == []
    events = world.client.resource(Event).namespace("default").list().items
    assert sorted(event.reason or "" for event in events) == [
        "ErrResourceExists",
        "ProcessingError",
        "ProcessingError",
    ]
    assert sum("reported by Events only" in line for line in caplog.messages) == 1


@pytest.mark.parametrize("errors", [[], [TerminalError("no")]], ids=["success", "failure"])
def test_a_status_that_cannot_be_written_is_tried_again_after_a_second(
    reports: World, errors: list[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """BP-19: whatever it was to say, and though nobody tries the work itself again."""
    refused: list[str] = []

    def refuse(action: Any) -> None:
        if action.subresource == "status" and not refused:
            refused.append(str(action))
            raise InternalServerError.of("not now")

    reports.asked.before = refuse
    recording = failing(*errors)
    reports.register(recording, Report)
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
        reports.clock.step(1)
        recording.wait_for_runs(2)
        reports.wait_for_timer()
    assert reports.get(Report).status.status == "Success"
    assert sum("was not written" in line for line in caplog.messages) == 1


def test_a_conflict_is_nothing_to_tell_users(reports: World) -> None:
    """OP-RTY-13: it is how concurrent writers find out."""

    def change(_ctx: Any, obj: Report) -> Result | None:
        if len(recording.runs) > 1:
            return None
        reports.patch(obj, {"metadata": {"labels": {"changed": "yes"}}})
        obj.spec.size = 5
        return Result.resource(obj)

    recording = Recording(change)
    reports.register(recording, Report)
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
        assert reports.get(Report).status is None
    assert reports.client.resource(Event).namespace("default").list().items == []


def test_a_reporter_that_fails_does_no_harm(
    reports: World, caplog: pytest.LogCaptureFixture
) -> None:
    """BP-13: the work is done, or has failed, whatever the reporter does."""

    class Broken(StatusReporter):
        def success(self, _ctx: Any, _obj: Any) -> None:
            raise ValueError("broken")

        def failure(self, _ctx: Any, _obj: Any, _error: Exception) -> None:
            raise ValueError("broken")

    recording = failing(ValueError("no"))
    reports.register(recording, Report, reporter=Broken())
    with reports.running():
        recording.wait_for_runs(1)
        reports.wait_for_timer()
        reports.clock.step(2)
        recording.wait_for_runs(2)
        reports.wait_for_timer()
    assert sum("the reporter failed" in line for line in caplog.messages) == 2
    assert reports.get(Report).status.observed_generation == 1


# The delays


def noted(last_update: str | None, status: str = "Failure") -> Report:
    obj = report()
    obj.status = ReportStatus(status=status, last_update=last_update)  # type: ignore[arg-type]
    return obj


def delay(obj: Any, now: float, attempt: int = 0) -> float | None:
    state = RetryState(attempt, obj=obj, now=now)
    return retry.best_practice().delay(state, ValueError("no"))


MIDNIGHT = 946684800.0  # 2000-01-01T00:00:00Z


def test_delays_double_and_are_counted_from_the_status() -> None:
    """BP-15, BP-16, BP-18: 2, 4, 8 ... 16384 seconds, then six hours."""
    waits, now, obj = [], MIDNIGHT, noted(None)
    for _ in range(16):
        wait = delay(obj, now)
        assert wait is not None
        waits.append(wait)
        obj = noted(format_time(now))
        now += wait
    assert waits == [2.0**n for n in range(1, 15)] + [21600.0, 21600.0]


@pytest.mark.parametrize(
    ("obj", "now", "expected"),
    [
        (noted(None), MIDNIGHT, 2.0),
        (noted("2000-01-01T00:00:00Z", "Success"), MIDNIGHT + 500, 2.0),
        (noted("2000-01-01T00:00:00Z"), MIDNIGHT + 0.3, 2.0),
        (noted("2000-01-01T00:00:00Z"), MIDNIGHT + 100, 200.0),
        (noted("2000-01-01T00:00:00Z"), MIDNIGHT - 100, 2.0),
        (noted("2000-01-01T00:00:00Z"), MIDNIGHT + 1e6, 21600.0),
    ],
)
def test_a_delay_is_never_shorter_than_two_seconds(obj: Any, now: float, expected: float) -> None:
    """BP-15, BP-17, BP-18: nor longer than six hours; a restart changes nothing."""
    assert delay(obj, now) == expected


def test_without_a_note_the_delay_doubles_with_each_attempt() -> None:
    """BP-11, OP-RTY-16: best_practice() is 2 s doubled up to 21600 s."""
    waits = [delay(gadget(), MIDNIGHT, attempt) for attempt in range(16)]
    assert waits == [2.0**n for n in range(1, 15)] + [21600.0, 21600.0]
    in_memory = retry.best_practice(source="memory")
    assert in_memory.delay(RetryState(3, obj=noted("2000-01-01T00:00:00Z")), ValueError()) == 16.0


# Policies by name


class Stubborn(retry.RetryPolicy):
    """A policy of somebody's own."""

    def __init__(self, pause: float = 1.0) -> None:
        self.pause = pause

    def delay(self, _state: RetryState, _error: Exception) -> float | None:
        return self.pause


class Configured(Stubborn):
    @classmethod
    def from_config(cls, config: Any) -> Configured:
        return cls(config.extra["pause"])


def policy(world: World, given: Any, **extra: Any) -> Any:
    return world.register(Recording(), Gadget, retry=given, extra=extra).config.retry


def test_a_policy_may_be_given_by_its_class_or_name(make_world: Callable[..., World]) -> None:
    """OP-RTY-17: built with nothing, or by its from_config from the controller's settings."""
    here = __name__
    assert policy(make_world(), Stubborn(7.0)).pause == 7.0
    assert policy(make_world(), Stubborn).pause == 1.0
    assert policy(make_world(), f"{here}:Stubborn").pause == 1.0
    assert policy(make_world(), f"{here}:Configured", pause=9.0).pause == 9.0
    assert policy(make_world(), "best_practice") == retry.best_practice()


def test_an_object_with_a_delay_is_a_policy_and_may_limit_its_attempts(
    make_world: Callable[..., World],
) -> None:
    """OP-RTY-17: what it does not have is as in RetryPolicy."""

    class Own:
        max_attempts = 3

        def delay(self, state: RetryState, _error: Exception) -> float:
            return 7.0 + state.attempt

    found = policy(make_world(), Own())
    assert found.delay(RetryState(attempt=1), ValueError()) == 8.0
    assert (found.max_attempts, found.reset_on_generation) == (3, False)
    assert found.after_exhaustion == "max_interval"


@pytest.mark.parametrize("given", ["nothing", "os:nothing", "no.such:Policy", object(), "os:path"])
def test_what_is_no_policy_is_refused(world: World, given: Any) -> None:
    """OP-RTY-17"""
    with pytest.raises(ConfigError, match="no retry policy"):
        policy(world, given)


def test_a_mix_in_is_known_by_its_fields() -> None:
    """BP-10, OP-STS-01: a struct cannot have two of them as its bases."""
    assert BestPracticeReporter().concerns(Report)
    assert not BestPracticeReporter().concerns(Gadget)
    with pytest.raises(TypeError):
        type("Both", (ReconcileStatus, ObservedGeneration), {})


def test_a_status_may_have_conditions_and_say_how_the_last_run_ended() -> None:
    """BP-10, OP-STS-07"""
    assert BestPracticeReporter().concerns(Wide)
    assert has_status_fields(Wide, Conditioned)
    assert has_status_fields(Wide, ReconcileStatus)
