"""What is waited for where the namespaces or the sources of a controller change meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.core_v1 import Namespace
from clientgo.cache import ResourceEventHandler
from clientgo.meta import ForbiddenError, ObjectMeta, ObjectName
from clientgo.operator.cache import kind_cache
from clientgo.operator.cache.scope import EVERYWHERE
from clientgo.operator.controller.sources import ControllerSources
from clientgo.operator.errors import CacheSyncTimeoutError
from clientgo.testing.fakes.actions import Action
from clientgo.util.wait import wait_for_event
from tests.background import Background
from tests.operator.world import PATIENCE, Gadget, Part, Recording, World, gadget

TWO = "two"


def refuse_parts_everywhere(action: Action) -> None:
    if action.namespace == "" and action.resource.resource == "parts":
        raise ForbiddenError.of("not here")


def first_wait(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that is set when a cache begins to be waited for."""
    began = threading.Event()

    def wait(*arguments: Any) -> bool:
        began.set()
        return wait_for_event(*arguments)

    monkeypatch.setattr(kind_cache, "wait_for_event", wait)
    return began


@pytest.mark.parametrize("optional", [False, True])
def test_a_namespace_that_is_left_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, optional: bool
) -> None:
    """OP-NS-05: what was not listed then never will be."""
    world.create(Namespace(metadata=ObjectMeta(name=TWO)))
    world.asked.before = refuse_parts_everywhere
    cache = world.manager.cache.declare(Part)
    subscription = cache.subscribe(ResourceEventHandler(), EVERYWHERE)
    cache.start()
    began = first_wait(monkeypatch)
    waiting = Background(lambda: cache.wait_synced(subscription, PATIENCE, optional=optional))
    assert began.wait(30)
    cache.change(subscription, frozenset({TWO}))
    assert waiting.result(PATIENCE / 2)
    assert [informer.has_synced() for informer in cache.informers().values()] == [True]
    cache.stop()


def test_the_start_does_not_wait_for_a_source_that_was_removed(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-SRC-04"""
    world = make_world(gadget("a"), cache_sync_timeout=PATIENCE)
    world.asked.before = refuse_parts_everywhere
    recording, began = Recording(), first_wait(monkeypatch)
    controller = world.manager.controller(Gadget).owns(Part, name="parts").build(recording)
    starting = Background(world.manager.start)
    assert began.wait(30)
    controller.remove_source("parts")
    starting.result(PATIENCE / 2)
    assert recording.wait_for_runs(1) == [ObjectName("default", "a")]


def test_nothing_runs_after_a_change_that_failed_before_the_old_ones_are_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-NS-05: an object would count as deleted that was not listed again yet."""
    world.create(Namespace(metadata=ObjectMeta(name=TWO)), gadget("a"))
    waiting_again = threading.Event()
    wait_synced = ControllerSources.wait_synced

    def hold(action: Action) -> None:
        if action.namespace == "" and action.resource.resource == "gadgets":
            assert waiting_again.wait(30)

    def time_out_once(sources: ControllerSources, timeout: float, stop: Any = None) -> None:
        if sources.namespaces == {TWO}:
            raise CacheSyncTimeoutError("not in time")
        waiting_again.set()
        wait_synced(sources, timeout, stop)

    recording = Recording()
    controller = world.register(recording)
    known: list[bool] = []
    hold_runs = controller.queue.hold

    def held(condition: Any) -> None:
        if condition is None:
            informers = controller.primary_cache.informers().values()
            known.extend(each.has_synced() for each in informers)
        hold_runs(condition)

    with world.running():
        recording.wait_for_runs(1)
        world.asked.before = hold
        monkeypatch.setattr(ControllerSources, "wait_synced", time_out_once)
        monkeypatch.setattr(controller.queue, "hold", held)
        with pytest.raises(CacheSyncTimeoutError, match="not in time"):
            controller.change_namespaces(TWO)
        waiting_again.set()
        assert known == [True]
