"""What the API server sees of a controller, and when it counts as quiet."""

from __future__ import annotations

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


def test_writes_and_lists_are_activity_and_reads_are_not() -> None:
    clock = FakeClock()
    log = RequestLog(clock)

    def quiet() -> bool:
        return log.wait_until_quiet(1.0, timeout=0.0)

    assert not quiet()
    wait = Background(lambda: log.wait_until_quiet(1.0, timeout=60.0))
    clock.run_for(1.0, lambda: clock.has_waiters() or not wait.is_running)
    assert wait.result()
    log.add(request("get"))
    assert quiet()
    log.add(request("update", "leases"))
    assert quiet()
    log.add(request("list"))
    assert not quiet()


def test_a_controller_that_is_never_quiet_is_waited_for_until_the_time_is_up() -> None:
    clock = FakeClock()
    log = RequestLog(clock)
    wait = Background(lambda: log.wait_until_quiet(1.0, timeout=3.0))
    while wait.is_running:
        clock.wait_for(lambda: clock.has_waiters() or not wait.is_running)
        log.activity()
        clock.step(0.04)
    assert not wait.result()
    assert round(log.waited, 1) == 3.0
