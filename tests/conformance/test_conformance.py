"""The embedded API server answers what a real one answered."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.controllers import garbage_collector, quotas
from clientgo.testcluster.server.faults.injection import FaultInjector
from hack import conformance
from tests.conformance.replay import (
    GENERATED,
    Outcome,
    describe_failure,
    load,
    replay,
    summary,
)
from tests.conformance.transport import Client

_JOBS = 8
"""Scenarios at a time; most of their time they wait for events."""


@pytest.fixture(autouse=True)
def _no_scenario_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario may take seconds here, which it did not when it was recorded.

    Scenarios read objects whose owners never existed, and quotas without a status; and owners of
    fields are in the order of their seconds.
    """
    monkeypatch.setattr(garbage_collector, "_OWNER_TIMEOUT", 5.0)
    monkeypatch.setattr(quotas, "_FIRST_DELAY", 60.0)
    started = time.time()
    monkeypatch.setattr(FaultInjector, "now", lambda _: started)


def test_every_recorded_response_is_reproduced(
    record_property: Callable[[str, object], None],
) -> None:
    documents = load()

    with EmbeddedAPIServer() as server:
        client = Client(server.url, token=None, ca=None, insecure=False)
        outcomes = list(replay(client, documents, jobs=_JOBS))

    record_property("summary", f"conformance: {summary(outcomes)}")
    failures = [describe_failure(item) for item in outcomes if item.verdict == "FAIL"]
    assert not failures, "\n".join(failures)


@pytest.mark.long
def test_sampled_scenarios_are_reproduced_but_for_the_listed_ones(
    record_property: Callable[[str, object], None],
) -> None:
    documents = load(GENERATED)
    listed = conformance.differing()

    with EmbeddedAPIServer() as server:
        client = Client(server.url, token=None, ca=None, insecure=False)
        outcomes = list(replay(client, documents, jobs=_JOBS))

    record_property("summary", f"sampled scenarios: {summary(outcomes)}")
    failures = [item for item in outcomes if item.verdict == "FAIL"]
    new = [describe_failure(item) for item in failures if item.name not in listed]
    assert not new, "\n".join(new)
    assert listed == {item.name for item in failures}, "some pass now: run make tables"


def test_the_page_has_the_current_numbers() -> None:
    page = conformance.DOCUMENT.read_text(encoding="utf-8")

    assert page == conformance.render(load(), load(GENERATED), conformance.differing())


def test_a_different_answer_is_noticed() -> None:
    document = {
        "namespaces": [],
        "steps": [
            {
                "id": "get",
                "path": "/healthz",
                "expect": {"status": 200, "headers": {}, "body": "no"},
            }
        ],
    }

    with EmbeddedAPIServer() as server:
        client = Client(server.url, token=None, ca=None, insecure=False)
        [outcome] = replay(client, {"health/wrong": document}, jobs=1)

    assert outcome.verdict == "FAIL"
    assert '-  "body": "no"' in outcome.detail


def test_the_summary_counts_what_was_skipped() -> None:
    outcomes = [Outcome("a", "ok"), Outcome("b", "FAIL"), Outcome("c", "skip")]

    assert summary(outcomes) == "1 passed, 1 failed, 1 skipped"
