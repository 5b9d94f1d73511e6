"""Every test is checked for threads that it leaves behind."""

from __future__ import annotations

import threading

import pytest

from tests.leftover_threads import no_thread_left


def test_a_thread_that_goes_on_is_told_by_its_name() -> None:
    """UTL-04."""
    end = threading.Event()
    with pytest.raises(AssertionError, match="forgotten"), no_thread_left(within=0.0):
        threading.Thread(target=end.wait, name="forgotten").start()
    end.set()


def test_a_thread_that_is_about_to_end_is_waited_for() -> None:
    """UTL-04."""
    end = threading.Event()
    with no_thread_left():
        threading.Thread(target=end.wait).start()
        end.set()


def test_every_test_is_checked(request: pytest.FixtureRequest) -> None:
    """UTL-04."""
    assert "_no_thread_is_left" in request.fixturenames
