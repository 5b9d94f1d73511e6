"""What the program says of its health: a restart is asked for only where it helps."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import wait_for_cache_sync
from clientgo.informers import health
from clientgo.leaderelection import LeaderHealth, LeaseExpiredError
from clientgo.meta import ForbiddenError
from clientgo.observe.serving import HealthChecks, Request
from sample_controller.endpoints import liveness, readiness
from tests.sample_controller.test_controller import World, failing, new_foo


def page(checks: HealthChecks) -> tuple[int, list[str]]:
    """The status, and the lines of ``?verbose``."""
    response = checks.respond(Request("/", query={"verbose": [""]}))
    return response.status, response.body.decode().splitlines()


def alive(world: World, election: LeaderHealth | None = None) -> tuple[int, list[str]]:
    return page(liveness(world.controller, election or LeaderHealth(20.0)))


def test_before_the_caches_are_filled_it_is_alive_and_not_ready() -> None:
    world = World()

    assert alive(world)[0] == 200
    status, lines = page(readiness(world.controller))
    assert status == 500
    assert "[-]informer-sync-Foo failed: reason withheld" in lines


def test_with_its_caches_filled_it_is_ready_whether_it_leads_or_not() -> None:
    world, stop = World(new_foo()), threading.Event()
    world.factory.start(stop)
    assert wait_for_cache_sync(stop, *world.controller.informers)
    try:
        assert page(readiness(world.controller)) == (
            200,
            [
                "[+]informer-sync-Deployment ok",
                "[+]informer-sync-Foo ok",
                "[+]ping ok",
                "readyz check passed",
            ],
        )
        assert alive(world) == (
            200,
            [
                "[+]informer-Deployment ok",
                "[+]informer-Foo ok",
                "[+]leaderElection ok",
                "[+]ping ok",
                "[+]workers ok",
                "healthz check passed",
            ],
        )
    finally:
        stop.set()
        world.factory.shutdown()


def test_a_server_that_refuses_lists_is_no_reason_for_a_restart() -> None:
    world, stop, refused = World(), threading.Event(), threading.Event()

    def refuse(action: Any) -> None:
        refused.set()
        failing(ForbiddenError.of("not you"))(action)

    world.client.prepend_reactor("list", "foos", refuse)
    world.factory.start(stop)
    try:
        assert refused.wait(30)
        assert alive(world)[0] == 200
    finally:
        stop.set()
        world.factory.shutdown()


def test_an_informer_that_has_ended_is() -> None:
    world, stop = World(), threading.Event()
    world.factory.start(stop)
    world.factory.shutdown()

    status, lines = alive(world)

    assert status == 500
    assert "[-]informer-Foo failed: reason withheld" in lines


def test_an_informer_that_hears_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    world, stop = World(), threading.Event()
    world.factory.start(stop)
    try:
        assert wait_for_cache_sync(stop, *world.controller.informers)
        monkeypatch.setattr(health, "LONGEST_SILENCE", -1.0)

        assert "[-]informer-Foo failed: reason withheld" in alive(world)[1]
    finally:
        stop.set()
        world.factory.shutdown()


def test_a_lease_that_a_leader_let_expire_is() -> None:
    class Elector:
        def check(self, tolerance: float) -> None:
            raise LeaseExpiredError("an hour ago")

    health = LeaderHealth(tolerance=20.0)
    health.attach(Elector())

    assert "[-]leaderElection failed: reason withheld" in alive(World(), health)[1]
