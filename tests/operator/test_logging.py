"""What log lines say about the object that is being worked on."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from clientgo.meta import ObjectName, resource_of
from clientgo.observe.logs import ContextFilter, JSONFormatter, setup_logging
from clientgo.operator import Context, TerminalError
from clientgo.operator.runs.run_fields import (
    SWITCH,
    BoundLogger,
    RunFields,
    current_run,
    logging_about,
)
from tests.operator.world import Gadget, Part, Planet, Recording, World, gadget, part

THEIRS = logging.getLogger("a.library.that.knows.nothing.of.us")


class Lines(logging.Handler):
    """Keeps what is logged, with the fields, as a program's own handler would write it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.addFilter(ContextFilter())
        self.setFormatter(JSONFormatter())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def of(self, message: str) -> dict[str, Any]:
        return next(line for line in self.lines if message in line["message"])


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


def test_every_line_of_a_run_names_its_object(world: World, lines: Lines) -> None:
    """OP-LOG-02, OP-LOG-03, OP-CTL-07: whoever writes it, and whatever is not there is left out."""
    world.create(gadget())

    def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        THEIRS.warning("something happened")
        ids.append(ctx.reconcile_id)

    ids: list[str] = []
    recording = Recording(reconcile)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    THEIRS.warning("all is over")
    line, stored = lines.of("something happened"), world.get(Gadget)
    assert line["logger"] == THEIRS.name
    told = {name: value for name, value in line.items() if name.startswith("resource.")}
    assert told == {
        "resource.apiVersion": "example.com/v1",
        "resource.kind": "Gadget",
        "resource.name": "a",
        "resource.namespace": "default",
        "resource.resourceVersion": stored.metadata.resource_version,
        "resource.generation": 1,
        "resource.uid": stored.metadata.uid,
    }
    assert (line["controller"], line["controllerGroup"], line["controllerKind"]) == (
        "gadget",
        "example.com",
        "Gadget",
    )
    assert (line["namespace"], line["objectName"]) == ("default", "a")
    assert line["reconcileID"] == str(UUID(ids[0]))
    assert "controller" not in lines.of("all is over")


def test_a_cluster_scoped_object_has_no_namespace_on_its_lines(lines: Lines) -> None:
    """OP-LOG-02: an absent value is an absent field."""
    earth = Planet()
    earth.metadata.name = "earth"
    fields = RunFields("planet", resource_of(Planet), ObjectName("", "earth"), obj=earth)
    with logging_about(fields):
        THEIRS.warning("turning")
    line = lines.of("turning")
    assert "resource.namespace" not in line
    assert "namespace" not in line
    assert line["resource.name"] == "earth"


def test_the_fields_go_even_if_the_run_raises(world: World, lines: Lines) -> None:
    """OP-LOG-04: nothing of one run is left in the thread for the next."""
    world.create(gadget("a"), gadget("b"))

    def fail(_ctx: Context[Any], obj: Gadget) -> None:
        THEIRS.warning("in %s", obj.metadata.name)
        raise TerminalError("no")

    controller = world.register(Recording(fail), workers=1)
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 2)
    for name in "ab":
        assert lines.of(f"in {name}")["resource.name"] == name
    assert current_run() is None


def test_work_beside_a_run_takes_the_fields_along(world: World, lines: Lines) -> None:
    """OP-LOG-04: ctx.run_in_thread."""
    world.create(gadget())

    def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        ctx.run_in_thread(THEIRS.warning, "from another thread").result(30)

    recording = Recording(reconcile)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert lines.of("from another thread")["resource.name"] == "a"


def test_a_mapper_and_a_predicate_name_the_object_of_the_event(world: World, lines: Lines) -> None:
    """OP-LOG-02: as event.*, for it is not the primary."""
    mapped = threading.Event()

    def mapper(_context: Any, obj: Part) -> list[ObjectName]:
        THEIRS.warning("mapping")
        mapped.set()
        return [ObjectName("default", obj.metadata.name)]

    world.manager.controller(Gadget).watches(Part, mapper).build(Recording())
    with world.running():
        world.create(part("p"))
        assert mapped.wait(30)
    line = lines.of("mapping")
    assert (line["event.kind"], line["event.name"]) == ("Part", "p")
    assert "resource.name" not in line


def test_values_are_bound_to_a_logger_and_the_later_ones_win(lines: Lines) -> None:
    """OP-LOG-05, OP-LOG-01: they are fields, not part of the text; the logger is logging's own."""
    log = BoundLogger(logging.getLogger("clientgo.operator.test")).bind(step="one", part=1)
    log.bind(step="two").info("moving", name="clashes with the record's own")
    line = lines.of("moving")
    assert line["message"] == "moving"
    assert (line["step"], line["part"]) == ("two", 1)
    assert line["name_"] == "clashes with the record's own"
    assert line["logger"] == "clientgo.operator.test"


def test_an_object_is_told_by_its_name_and_never_by_its_content(lines: Lines) -> None:
    """OP-LOG-07"""
    secretive = gadget()
    secretive.spec.colour = "secret"
    BoundLogger(logging.getLogger("clientgo.operator.test")).info("made", obj=secretive)
    line = lines.of("made")
    assert line["obj"] == {"kind": "Gadget", "namespace": "default", "name": "a"}
    assert "secret" not in json.dumps(line)


def test_the_fields_can_be_switched_off(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-LOG-06"""
    monkeypatch.setenv(SWITCH, "false")
    with logging_about(RunFields("gadget", resource_of(Gadget), ObjectName("default", "a"))):
        THEIRS.warning("anonymous")
    assert "controller" not in lines.of("anonymous")


def test_a_run_is_told_of_at_debug_and_a_start_at_info(world: World, lines: Lines) -> None:
    """OP-LOG-08: a settled controller is silent."""
    world.create(gadget())
    recording = Recording()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    ours = [line for line in lines.lines if line["logger"].startswith("clientgo.operator")]
    assert any("started 1 worker" in line["message"] for line in ours)
    assert not [line for line in ours if "reconcile" in line["logger"]]


@contextmanager
def no_handlers() -> Iterator[None]:
    root = logging.getLogger()
    level, (kept, root.handlers) = root.level, (root.handlers, [])
    try:
        yield
    finally:
        root.handlers = kept
        root.setLevel(level)


def test_the_library_installs_no_handler_and_the_program_may(world: World) -> None:
    """OP-LOG-01: setup_logging writes lines of JSON with their fields."""
    with no_handlers():
        world.register(Recording(), kind=Gadget)
        assert logging.getLogger().handlers == []
        stream = io.StringIO()
        setup_logging(json=True, stream=stream)
        with logging_about(RunFields("gadget", resource_of(Gadget), ObjectName("default", "a"))):
            THEIRS.warning("written")
    line = json.loads(stream.getvalue().splitlines()[-1])
    assert (line["message"], line["objectName"]) == ("written", "a")
