"""A live study, without a browser: what is recorded, held, and changed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import ActionError, Session
from clientgo.tools.study.sources import PLACES
from clientgo.tools.study.target import foo_target
from tests.tools.study.reading import Line, Reader


@pytest.fixture
def session() -> Iterator[Session]:
    """Shows a Foo that has its Deployment; no pods are simulated."""
    with Session(foo_target(), Recording(), beside=lambda _: nullcontext()) as session:
        yield session


@pytest.fixture
def reader(session: Session) -> Reader:
    """Reads what is recorded once the Deployment is in the cache."""
    reader = Reader(session.recording)
    missing = {"sync of the Deployment", "version of it"}

    def is_last_missing(line: Line) -> bool:
        if line["hop"] == "study.object" and line["resource"] == "deployments":
            missing.discard("version of it")
        if line["hop"] == "sync.end" and reader.has("index.update", of="Deployment"):
            missing.discard("sync of the Deployment")
        return not missing

    reader.wait_for(f"{missing}", is_last_missing)
    return reader


def test_a_key_is_seen_on_its_whole_way(session: Session, reader: Reader) -> None:
    message = session.act("create", "").message

    key = f"default/{message.split()[-1]}"
    for hop in (
        "watch.event",
        "fifo.append",
        "fifo.pop",
        "index.update",
        "handler.call",
        "queue.add",
        "queue.get",
        "sync.start",
        "request.sent",
        "request.answered",
        "sync.end",
        "queue.done",
    ):
        reader.wait_for_hop(hop, key=key)


def test_only_the_studied_controller_is_recorded(session: Session, reader: Reader) -> None:
    session.act("scale", "default/foo-1")
    missing = {"study.object", "queue.done"}

    def is_last_missing(line: Line) -> bool:
        if line["hop"] == "queue.done" or line.get("resource") == "foos":
            missing.discard(line["hop"])
        return not missing

    reader.wait_for(f"{missing}", is_last_missing)

    hops = [line for line in map(json.loads, session.recording.lines()) if "of" in line]
    of = {line["of"] for line in hops if not line["hop"].startswith("study.")}
    assert {name for name in of if name.startswith(("study", "kubelet", "nodes"))} == set()
    assert {line["of"] for line in hops if line["hop"] == "sync.start"} == {"foos"}


def test_each_hop_has_the_line_of_the_library(session: Session) -> None:
    lines = map(json.loads, session.recording.lines())
    sources = [line for line in lines if line["hop"] == "study.source"]

    assert {line["of"] for line in sources if line["whose"] == "library"} == set(PLACES)
    (sync,) = [line for line in sources if line["of"] == "sync"]
    assert sync["file"] == "sample_controller/controller.py"
    assert sync["text"][0].startswith("def sync(self")


def test_a_paused_worker_does_not_sync_until_it_is_stepped(
    session: Session, reader: Reader
) -> None:
    session.pace("paused")
    session.act("scale", "default/foo-1")

    passed: list[str] = []
    while True:  # what was under way before the pause is stepped too
        held = reader.wait_for_hop("study.held")
        if held["boundary"] == "sync" and "queue.take" in passed and "fifo.take" in passed:
            break
        session.step(held["number"])
        passed.append(held["boundary"])
    assert not reader.has("study.released", number=held["number"])
    assert session.step(held["number"]) is not None

    reader.wait_for_hop("sync.start", thread=held["thread"])
    assert reader.has("study.released", number=held["number"])


def test_the_last_page_that_is_closed_lets_everything_go(session: Session, reader: Reader) -> None:
    session.joined()
    session.joined()
    session.pace("paused")
    session.left()
    assert session.pacing.mode == "paused"

    session.left()

    assert session.pacing.mode == "running"
    reader.wait_for_hop("study.pace", mode="running")


def test_the_first_page_finds_slow_motion(session: Session) -> None:
    session.joined()
    assert session.pacing.mode == "slow"
    session.pace("running")

    session.joined()

    assert session.pacing.mode == "running"


def test_a_page_that_has_a_pace_of_its_own_finds_the_usual_one(session: Session) -> None:
    session.joined(slow=False)

    assert session.pacing.mode == "running"


def scaled(reader: Reader) -> Line:
    """Return the version in which the Foo has two replicas."""
    return Reader(reader.recording).wait_for(
        "two replicas",
        lambda line: line["hop"] == "study.object" and line["object"]["spec"]["replicas"] == 2,
    )


def test_an_action_is_noted_before_its_first_effect(session: Session, reader: Reader) -> None:
    session.act("scale", "default/foo-1")
    session.act("ten-edits", "default/foo-1")

    action = reader.wait_for_hop("study.action", action="scale")
    assert not [line for line in reader.seen if line.get("version") == scaled(reader)["version"]]
    assert action["message"] == "you scale Foo foo-1 to 2 replicas"
    lines = [json.loads(line) for line in session.recording.lines()]
    (ten,) = [line for line in lines if line.get("action") == "ten-edits"]
    assert (ten["key"], ten["edits"]) == ("default/foo-1", 10)
    assert ten["message"] == "you edit Foo foo-1 10 times at once"


def test_ten_edits_arrive_in_one_burst_at_full_speed(session: Session, reader: Reader) -> None:
    reader.settle()
    reader.forget()
    session.act("ten-edits", "default/foo-1")

    for _ in range(10):
        reader.wait_for_hop("watch.event", key="default/foo-1")
    while len([line for line in reader.seen if line["hop"] == "handler.call"]) < 10:
        reader.wait_for_hop("handler.call")
    reader.settle()

    # One by one they would be ten: a sync ends before the next edit.
    assert sum(line["hop"] == "sync.start" for line in reader.seen) <= 5


def test_only_the_syncs_of_the_chosen_key_fail(session: Session, reader: Reader) -> None:
    session.act("create", "")
    reader.wait_for_hop("index.update", of="Deployment", key="default/web-2")

    session.act("fail-syncs", "default/web-2")  # the key of its Deployment
    session.act("scale", "default/foo-1")

    assert reader.wait_for_hop("study.action", action="fail-syncs")["fault"] == "refuse web-2"
    healed = reader.wait_for_hop("study.healed")
    assert healed["lifted"] == ["refuse web-2"]
    refused = [line for line in reader.seen if line.get("status") == 500]
    assert len(refused) in (7, 8)  # the end is noted before or after the last answer
    assert {line["key"] for line in refused} == {"default/foo-2"}


@pytest.mark.usefixtures("reader")  # the informers are there
def test_a_resync_reaches_the_informers_of_the_controller_only(session: Session) -> None:
    assert sorted(informer.name for informer in session.informers()) == ["Deployment", "Foo"]


def test_a_failing_sync_is_retried_with_a_growing_back_off(
    session: Session, reader: Reader
) -> None:
    session.act("fail-syncs", "default/foo-1")

    delays: list[float] = []
    while (
        not delays or delays[-1] < 0.6
    ):  # before them, a sync may fail because its cache is behind
        delays.append(reader.wait_for_hop("queue.add_rate_limited")["delay"])

    assert delays[-8:] == pytest.approx([0.005 * 2**failures for failures in range(8)])
    reader.wait_for_hop("queue.forget", key="default/foo-1")


@pytest.mark.parametrize(
    ("action", "then"),
    [
        ("scale", ("queue.add", {"key": "default/foo-1"})),
        ("edit-deployment", ("request.sent", {"method": "PUT", "key": "default/foo-1"})),
        ("delete-deployment", ("request.sent", {"method": "POST", "key": "default/foo-1"})),
        ("cut-watch", ("watch.ended", {"of": "Foo"})),
        ("restart", ("watch.ended", {"of": "Foo"})),
    ],
)
def test_an_action_does_what_it_says(
    action: str, then: tuple[str, dict[str, Any]], session: Session, reader: Reader
) -> None:
    session.act(action, "default/foo-1")

    reader.wait_for_hop(then[0], **then[1])


def test_expired_history_makes_the_reflector_list_again(session: Session, reader: Reader) -> None:
    session.act("expire", "")

    # Its watch has had events: one without any, that is short, makes a reflector wait.
    reader.wait_for_hop("watch.ended", of="Deployment", reason="closed")
    ended = reader.wait_for_hop("watch.ended", of="Deployment")
    assert "too old resource version" in ended["reason"]
    again = reader.wait_for_hop("request.sent", of="Deployment")
    assert "sendInitialEvents=true" in again["path"]


@pytest.mark.parametrize(
    ("status", "change"), [(409, "edit-deployment"), (429, "edit-deployment"), (500, "scale")]
)
def test_a_request_is_answered_with_a_failure_once(
    status: int, change: str, session: Session, reader: Reader
) -> None:
    session.act(f"answer-{status}", "")
    session.act(change, "default/foo-1")

    lifted = reader.wait_for("the end of the fault", lambda line: line.get("lifted"))
    assert lifted["lifted"] == [str(status)]
    if not reader.has("request.answered", status=status):
        reader.wait_for_hop("request.answered", status=status)


def test_frozen_watches_bring_nothing_until_they_are_healed(
    session: Session, reader: Reader
) -> None:
    session.act("freeze-watch", "")
    frozen = reader.wait_for_hop("study.action", action="freeze-watch")
    session.act("scale", "default/foo-1")
    reader.wait_for_hop("study.object", key="default/foo-1", resource="foos")
    before = [line["n"] for line in reader.seen if line["hop"] == "watch.event"]
    last = reader.seen[-1]["n"]

    session.act("heal", "")

    healed = reader.wait_for_hop("study.action", action="heal")
    event = reader.wait_for_hop("watch.event", key="default/foo-1")
    assert healed["lifted"] == [frozen["fault"]]
    assert event["n"] > last > max(before)


def test_an_unknown_action_and_an_impossible_one_are_refused(session: Session) -> None:
    with pytest.raises(KeyError):
        session.act("explode", "")
    session.act("delete", "default/foo-1")
    with pytest.raises(ActionError, match="there is no Foo; create one first"):
        session.act("scale", "")


def test_an_end_lets_held_threads_go_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())

    with Session(foo_target(), Recording()) as session:
        reader = Reader(session.recording)
        session.pace("paused")
        session.act("create", "")
        reader.wait_for_hop("study.held")

    assert [thread.name for thread in set(threading.enumerate()) - before] == []
    assert session.recording.closed
