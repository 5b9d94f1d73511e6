"""What the API server sees of a controller, and when it counts as quiet."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server.faults import ObservedRequest
from clientgo.testing import FakeClock
from clientgo.testing.perturb.writes import AGENT, RequestLog
from tests.background import Background


def request(verb: str, resource: str = "secrets") -> ObservedRequest:
    return ObservedRequest(verb, resource, "default", "a", f"{AGENT}/1", 200)


def test_a_wait_that_wakes_late_is_not_quiet_for_longer() -> None:
    """On a busy machine the controller is as late as the one who waits for it."""
    clock = FakeClock()
    log = RequestLog(clock)
    wait = Background(lambda: log.wait_until_quiet(1.0, timeout=60.0))
    for _ in range(25):
        assert wait.is_running
        clock.wait_for_waiters()
        clock.step(10.0)
    assert wait.result()
    assert round(log.waited, 3) == 1.0


@pytest.mark.parametrize(
    ("verb", "resource", "is_activity"),
    [
        ("get", "secrets", False),
        ("update", "leases", False),
        ("update", "secrets", True),
        ("list", "secrets", True),
    ],
)
def test_writes_and_lists_are_activity_and_reads_are_not(
    verb: str, resource: str, is_activity: bool
) -> None:
    clock = FakeClock()
    log = RequestLog(clock)
    wait = Background(lambda: log.wait_until_quiet(1.0, timeout=60.0))
    clock.run_for(0.5, clock.has_waiters)
    log.add(request(verb, resource))
    while wait.is_running:
        clock.wait_for(lambda: clock.has_waiters() or not wait.is_running)
        clock.step(0.04)
    assert wait.result()
    assert (log.waited > 1.4) is is_activity


def test_a_quiet_time_begins_with_its_wait() -> None:
    """What was changed just before may not have come to the controller."""
    clock = FakeClock()
    log = RequestLog(clock)

    def wait() -> float:
        waiting = Background(lambda: log.wait_until_quiet(1.0, timeout=60.0))
        clock.run_for(1.0, lambda: clock.has_waiters() or not waiting.is_running)
        assert waiting.result()
        return round(log.waited, 3)

    assert [wait(), wait()] == [1.0, 2.0]


def test_a_controller_that_is_never_quiet_is_waited_for_until_the_time_is_up() -> None:
    clock = FakeClock()
    log = RequestLog(clock)
    wait = Background(lambda: log.wait_until_quiet(1.0, timeout=3.0))
    while wait.is_running:
        clock.wait_for(lambda: clock.has_waiters() or not wait.is_running)
        log.add(request("list"))
        clock.step(0.04)
    assert not wait.result()
    assert round(log.waited, 1) == 3.0
