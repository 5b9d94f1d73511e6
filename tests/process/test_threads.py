"""Threads that report how they ended."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import pytest

import clientgo
from clientgo.metrics import default_provider, names, set_default_provider
from clientgo.process import SupervisedThread
from tests.metrics.recording import RecordingProvider

THEN = "nothing is done any more; restart this process"

KEEP_WHAT_IS_RAISED = {
    "workqueue/workers.py",
    "workqueue/client_go/parallelize.py",
    "operator/webhooks/endpoint.py",
    "operator/context.py",
}
"""Files whose threads pass everything that is raised, SystemExit included, to another thread."""


def run(thread: SupervisedThread) -> None:
    thread.start()
    thread.join()


@pytest.mark.thread_failure
@pytest.mark.parametrize("failure", [ValueError("no"), SystemExit(3), SystemExit()])
def test_a_thread_that_ends_by_an_exception_says_so_and_calls_what_depends_on_it(
    failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[BaseException] = []

    def work(raised: BaseException) -> None:
        raise raised

    run(SupervisedThread(work, args=(failure,), name="poll-1", then=THEN, on_failure=seen.append))

    assert seen == [failure]
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert record.getMessage() == (
        f"thread poll-1 ended by {type(failure).__name__}: {failure}; {THEN}"
    )


@pytest.mark.thread_failure
def test_failures_are_counted_by_the_role_of_the_thread() -> None:
    provider, before = RecordingProvider(), default_provider()
    set_default_provider(provider)
    try:
        run(SupervisedThread(exit, name="connection-17", then=THEN))
    finally:
        set_default_provider(before)

    assert provider[names.THREAD_FAILURES].value == 1
    assert provider.labels[names.THREAD_FAILURES.name] == {"thread": "connection"}


@pytest.mark.thread_failure
def test_a_reaction_that_fails_is_reported_too(caplog: pytest.LogCaptureFixture) -> None:
    def react(_: BaseException) -> None:
        raise KeyError("second")

    run(SupervisedThread(exit, name="a", then=THEN, on_failure=react))

    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "thread a ended by SystemExit: None",
        "thread a ended by KeyError: 'second'",
    ]


def test_a_thread_that_returns_reports_nothing(caplog: pytest.LogCaptureFixture) -> None:
    run(SupervisedThread(lambda: None, name="a", then=THEN))

    assert caplog.records == []


def test_no_thread_of_the_library_can_end_silently() -> None:
    """Every thread is supervised, or keeps what its target raises."""
    library = Path(clientgo.__file__).parent
    plain = {
        str(file.relative_to(library))
        for file in library.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "threading.Thread"
    }

    assert plain == KEEP_WHAT_IS_RAISED
