"""A second cluster, whose objects wake the primaries of the first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import SharedIndexInformer
from clientgo.meta import ObjectName
from clientgo.operator import Cluster
from clientgo.operator.errors import DeclarationError, KindNotCachedError
from clientgo.operator.mappers import by_name
from tests.leftover_threads import no_thread_left
from tests.operator.world import Gadget, Part, Recording, World, gadget, part


def test_objects_of_another_cluster_wake_primaries_of_this_one(
    make_world: Callable[..., World],
) -> None:
    """OP-MGR-22: and are read from caches of their own, which are filled at the start."""
    here, there = make_world(gadget()), make_world(part("known"))
    recording = Recording()
    with no_thread_left():
        remote = Cluster(there.server.url, name="remote")
        here.manager.add_cluster(remote)
        source = remote.watch(Part, mapper=by_name())
        here.manager.controller(Gadget).source(source).build(recording)
        with here.running():
            assert remote.client.get(Part, "known", "default")
            with pytest.raises(KindNotCachedError):
                here.manager.client.get(Part, "known", "default")
            recording.wait_for_runs(1)
            there.create(part("a"))
            assert recording.wait_for_runs(2)[1] == ObjectName("default", "a")
            (health,) = here.manager.health()
            assert {s.name: s.synced for s in health.sources} == {
                "primary": True,
                "remote-part": True,
            }
            with pytest.raises(DeclarationError, match="before the manager is started"):
                here.manager.add_cluster(remote)


def test_a_cluster_that_the_manager_does_not_have_is_named_at_the_start(
    make_world: Callable[..., World],
) -> None:
    """OP-MGR-22: its caches would never be filled."""
    here, there = make_world(), make_world()
    remote = Cluster(there.server.url, name="remote")
    source = remote.watch(Part, mapper=by_name())
    here.manager.controller(Gadget).source(source).build(Recording())
    with pytest.raises(DeclarationError, match=r"'remote', which is not started: .*add_cluster"):
        here.manager.start()
    remote.stop()


def test_an_informer_of_another_cluster_that_ends_stops_the_manager(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MGR-18, for every cluster that the manager has."""
    here, there = make_world(), make_world()
    remote = Cluster(there.server.url, name="remote")
    here.manager.add_cluster(remote)
    source = remote.watch(Part, mapper=by_name())
    here.manager.controller(Gadget).source(source).build(Recording())
    run = SharedIndexInformer.run

    def bug_in_parts(informer: Any, stop: threading.Event) -> None:
        if "parts" in informer.name:
            raise ZeroDivisionError
        run(informer, stop)

    monkeypatch.setattr(SharedIndexInformer, "run", bug_in_parts)
    with pytest.raises(ZeroDivisionError):
        here.manager.run(signals=False)
