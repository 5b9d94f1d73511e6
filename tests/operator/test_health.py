"""What probes are told, and what a manager says of itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.operator import Context
from clientgo.operator.addons.polling import poll
from clientgo.operator.errors import OperatorError
from clientgo.testcluster.server.faults import CloseWatches, FailRequests, Requests
from tests.operator.pages import ask
from tests.operator.world import PATIENCE, Gadget, Recording, World, gadget


@pytest.fixture
def probed(make_world: Callable[..., World]) -> Callable[..., World]:
    """Makes a world whose manager can be probed."""
    return lambda *objects, **settings: make_world(*objects, health="127.0.0.1:0", **settings)


def probe(world: World, path: str) -> tuple[int, str]:
    return ask(world.manager.bound.health + path)


def test_probes_have_their_paths(probed: Callable[..., World]) -> None:
    """OP-HLT-01, OP-HLT-02, OP-HLT-04"""
    world = probed()
    with world.running():
        for path in ("/healthz", "/healthz/", "/readyz", "/healthz/ping", "/healthz/ping/"):
            assert probe(world, path) == (200, "ok")
        assert probe(world, "/healthz/nothing")[0] == 404
        assert probe(world, "/livez")[0] == 404


def test_probes_may_have_other_paths(probed: Callable[..., World]) -> None:
    """OP-HLT-01"""
    world = probed(liveness_path="/livez", readiness_path="/ready")
    with world.running():
        assert probe(world, "/livez") == (200, "ok")
        assert "ready check passed" in probe(world, "/ready?verbose")[1]
        assert probe(world, "/healthz")[0] == 404


def test_a_check_that_fails_is_named_and_its_reason_kept_for_the_log(
    probed: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-HLT-02, OP-HLT-03, OP-HLT-05"""
    world = probed()

    def fails() -> None:
        raise ValueError("a secret")

    world.manager.add_readyz("disk", fails)
    with world.running():
        status, body = probe(world, "/readyz")
        assert (status, body.splitlines()) == (
            500,
            [
                "[+]caches ok",
                "[-]disk failed: reason withheld",
                "[+]ping ok",
                "[+]sources ok",
                "readyz check failed",
            ],
        )
        assert probe(world, "/readyz/disk")[0] == 500
        excluded = probe(world, "/readyz?exclude=disk&exclude=moon&verbose")
        assert excluded[0] == 200
        assert "[+]disk excluded: ok" in excluded[1]
        assert 'no matches for "moon"' in excluded[1]
    assert "a secret" in caplog.text


def test_a_check_that_hangs_fails_after_a_second(probed: Callable[..., World]) -> None:
    """OP-HLT-05: and holds up no other."""
    world, release = probed(), threading.Event()
    world.manager.add_healthz("slow", lambda: release.wait(PATIENCE))
    with world.running():
        began = time.monotonic()
        status, body = probe(world, "/healthz")
        took = time.monotonic() - began
        release.set()
    assert (status, "[-]slow failed" in body, "[+]ping ok" in body) == (500, True, True)
    assert took < PATIENCE / 2


def test_built_in_checks_can_be_left_out(probed: Callable[..., World]) -> None:
    """OP-HLT-06"""
    world = probed(checks=["workers"])
    with world.running():
        assert probe(world, "/readyz?verbose")[1].splitlines() == [
            "[+]ping ok",
            "readyz check passed",
        ]
        assert "[+]workers ok" in probe(world, "/healthz?verbose")[1]


def test_a_source_that_does_not_work_is_a_reason_to_wait(probed: Callable[..., World]) -> None:
    """OP-HLT-06, OP-HLT-08"""
    world = probed()
    answers: list[Any] = [{}, OSError("no answer")]
    asked = threading.Semaphore(0)

    def fetch() -> Any:
        answer = answers.pop(0)
        asked.release()
        if isinstance(answer, Exception):
            raise answer
        return answer

    world.manager.controller(Gadget).source(poll(fetch, period=10, name="far")).build(Recording())
    with world.running():
        assert asked.acquire(timeout=PATIENCE)
        assert probe(world, "/readyz") == (200, "ok")
        world.clock.wait_for(lambda: world.clock.waiters() > 0)
        world.clock.step(10)
        assert asked.acquire(timeout=PATIENCE)
        status, body = until_failing(world)
        (health,) = world.manager.health()
        sources = {source.name: source for source in health.sources}
    assert (status, "[-]sources failed" in body) == (500, True)
    assert sources["far"].trouble == "OSError: no answer"
    assert sources["far"].namespaces is None
    primary = sources["primary"]
    assert (primary.synced, primary.trouble, primary.namespaces) == (True, None, {""})


def until_failing(world: World) -> tuple[int, str]:
    """The first answer of the readiness probe that is bad."""
    give_up = time.monotonic() + PATIENCE
    while (answer := probe(world, "/readyz"))[0] == 200:
        assert time.monotonic() < give_up
    return answer


def test_a_watch_that_is_opened_again_is_no_trouble_for_a_minute(
    probed: Callable[..., World],
) -> None:
    """OP-HLT-06"""
    world = probed()
    registered = world.register(Recording())
    with world.running():
        refused = Requests(resource="gadgets")
        world.server.inject(FailRequests(requests=refused, times=None, status=500))
        world.server.inject(CloseWatches(requests=refused))
        (source,) = (source for source in registered.sources() if source.name == "primary")
        informer = next(iter(source.cache.informers().values()))  # type: ignore[attr-defined]
        world.clock.wait_for(lambda: not informer.is_watching())
        assert probe(world, "/readyz") == (200, "ok")
        world.clock.step(59)
        assert probe(world, "/readyz") == (200, "ok")
        world.clock.step(2)
        with pytest.raises(OperatorError, match="no watch of gadgets"):
            world.manager._stages.health.check_sources()
        assert probe(world, "/readyz")[0] == 500
        world.server.lift()


def test_workers_that_are_all_stuck_are_a_reason_for_a_restart(
    probed: Callable[..., World],
) -> None:
    """OP-HLT-07"""
    world = probed(gadget("a"), gadget("b"))
    begun, release = threading.Semaphore(0), threading.Event()

    def hang(_ctx: Context[Any], _obj: Any) -> None:
        begun.release()
        release.wait(PATIENCE)

    world.register(Recording(hang), workers=2, reconcile_timeout=6)
    with world.running():
        for _ in range(2):
            assert begun.acquire(timeout=PATIENCE)
        world.clock.step(60)
        assert probe(world, "/healthz") == (200, "ok")
        world.clock.step(1)
        status, body = probe(world, "/healthz")
        assert world.manager.health()[0].stuck
        release.set()
    assert (status, "[-]workers failed" in body) == (500, True)
