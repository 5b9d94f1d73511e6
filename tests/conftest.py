"""Settings that hold for the whole suite."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import settings

from tests.background import Background
from tests.leftover_threads import no_thread_left
from tests.too_deep import small_stacks

# A busy machine is no failure. In CI the same examples are tried each time, so that a change is
# judged by what it changes; on a desk every run looks further, so few examples a run are enough.
settings.register_profile("desk", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    with no_thread_left():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long tests first: one that is started last keeps the other processors waiting."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test with the mark `small_stack` in a thread that has one, since CPython 3.14.

    Before, the stack is not what limits a decoder, and a small one may overflow.
    """
    if sys.version_info < (3, 14) or not pyfuncitem.get_closest_marker("small_stack"):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    gc.disable()  # hypothesis is called at each collection, and has no stack where that is used up
    try:
        with small_stacks():
            Background(partial(pyfuncitem.obj, **arguments)).result(timeout=300.0)
    finally:
        gc.enable()
    return True


def pytest_collection_finish() -> None:
    """Keep the tests themselves out of every later garbage collection: they live to the end."""
    gc.freeze()


@pytest.fixture(scope="module")
def frozen_heap() -> None:
    """Keep what earlier tests left out of the collections of a module that asks for many."""
    gc.collect()
    gc.freeze()


class _ThreadFailures(logging.Handler):
    """Collects reports of threads that ended by an exception."""

    def __init__(self) -> None:
        super().__init__(logging.CRITICAL)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def _no_thread_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if a thread of the library ends by an exception, as pytest does for other threads."""
    if request.node.get_closest_marker("thread_failure"):
        yield
        return
    failures = _ThreadFailures()
    logger = logging.getLogger("clientgo.util.process")
    logger.addHandler(failures)
    try:
        yield
    finally:
        logger.removeHandler(failures)
    assert not failures.messages


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded as their ``summary``, also when they ran elsewhere."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "summary":
                terminalreporter.write_line(str(value))
