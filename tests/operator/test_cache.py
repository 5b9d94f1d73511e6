"""What a manager caches of the cluster, how much of it, and what reads of it see."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from clientgo.api.core_v1 import Namespace, Secret
from clientgo.meta import (
    ConflictError,
    ObjectMeta,
    ObjectName,
    PartialObjectMetadata,
    deep_copy,
)
from clientgo.observe.metrics import NO_METRICS, Metric
from clientgo.operator import CacheScope, Context, Manager, OperatorError, watch
from clientgo.operator.cache.transforms import keep_keys, strip_managed_fields
from clientgo.operator.errors import (
    ConfigError,
    DeclarationError,
    NamespaceNotCachedError,
)
from clientgo.operator.mappers import by_name
from clientgo.testing.fakes.actions import Action
from tests.operator.world import Gadget, GadgetSpec, Part, Recording, World, gadget, part

A = ObjectName("default", "a")


def namespace(name: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name))


def reading(world: World, *kinds: Any) -> Recording:
    """A controller that reads kinds without being woken by them."""
    recording = Recording()
    world.manager.controller(Gadget).reads(*kinds).build(recording)
    return recording


def of_parts(action: Action) -> bool:
    return action.resource.resource == "parts"


# One cache for each kind


def test_a_cache_notices_that_the_versions_of_its_server_begin_again(world: World) -> None:
    """OP-CLI-06: own writes to the server before are no writes to this one."""
    world.create(gadget("a"))
    world.register(Recording())
    with world.running():
        (cache,) = world.manager.cache.caches()
        (informer,) = cache.informers().values()
        assert cache.as_of("default") > 1
        assert cache.restarts == 0
        informer.indexer.replace([], "1")
        assert (cache.as_of("default"), cache.restarts) == (1, 1)


def test_two_projections_of_a_kind_are_refused(world: World) -> None:
    """OP-CCH-01: they might disagree."""
    builder = world.manager.controller(Gadget).owns(Part, project="metadata")
    with pytest.raises(DeclarationError, match="cached as metadata and as full"):
        builder.watches(Part, by_name(), name="again").build(Recording())


def test_two_projections_of_a_kind_can_be_allowed(make_world: Callable[..., World]) -> None:
    """OP-CCH-01: reads are of the whole, and own writes are known to both."""
    world = make_world(part("p"), allow_duplicate_projection=True)
    builder = world.manager.controller(Gadget).owns(Part, project="metadata")
    builder.watches(Part, by_name(), name="again").build(Recording())
    with world.running():
        (found,) = world.manager.client.list(Part)
        assert isinstance(found, Part)
        created = world.manager.client.create(part("q"))
        for cache in world.manager.cache.caches():
            if cache.resource.kind == "Part":
                newest = cache.get(ObjectName("default", "q"))
                assert newest is not None
                assert newest.metadata.uid == created.metadata.uid


def test_a_projection_to_the_metadata_is_read_as_such_and_cannot_be_written(
    world: World,
) -> None:
    """OP-BLD-11: what was written in full is read as its metadata too."""
    world.create(part("p"))
    world.manager.controller(Gadget).owns(Part, project="metadata").build(Recording())
    with world.running():
        client = world.manager.client
        client.create(part("q"))
        found = client.list(Part)
        assert [type(obj) for obj in found] == [PartialObjectMetadata] * 2
        assert [obj.metadata.name for obj in found] == ["p", "q"]
        for write in (client.update, client.create, client.delete):
            with pytest.raises(OperatorError, match="only the metadata of 'p' was read"):
                write(found[0])


def test_informers_may_be_implicit(make_world: Callable[..., World]) -> None:
    """OP-BLD-12: a read of what nobody declared begins to cache it."""
    world = make_world(part("p"), implicit_informers=True)
    world.register(Recording())
    with world.running():
        assert world.manager.client.get(Part, "p", "default").metadata.name == "p"


def test_a_read_waits_for_a_kind_that_another_read_has_begun_to_cache(
    make_world: Callable[..., World],
) -> None:
    """OP-BLD-12"""
    world = make_world(part("p"), implicit_informers=True)
    world.register(Recording())
    listing, go_on = threading.Event(), threading.Event()

    def hold(action: Action) -> None:
        if of_parts(action):
            listing.set()
            assert go_on.wait(30)

    with world.running():
        world.asked.before = hold
        found: queue.Queue[list[Part]] = queue.Queue()
        for _ in range(2):
            threading.Thread(target=lambda: found.put(world.manager.client.list(Part))).start()
        assert listing.wait(30)
        assert found.empty()
        go_on.set()
        assert [len(found.get(timeout=30)) for _ in range(2)] == [1, 1]


# Scopes


def test_selectors_are_for_the_server(make_world: Callable[..., World]) -> None:
    """OP-CCH-02, OP-CCH-09: what is not selected never comes here."""
    world = make_world(
        part("web", labels={"app": "web"}),
        part("db", labels={"app": "db"}),
        cache_by_kind={Part: CacheScope(labels="app=web", fields="metadata.name!=x")},
    )
    reading(world, Part)
    with world.running():
        assert [obj.metadata.name for obj in world.manager.client.list(Part)] == ["web"]
        options = [action.options for action in world.asked.actions() if of_parts(action)]
        assert {one["labelSelector"] for one in options} == {"app=web"}
        assert {one["fieldSelector"] for one in options} == {"metadata.name!=x"}


def test_several_namespaces_are_one_watch_each(make_world: Callable[..., World]) -> None:
    """OP-CCH-09, OP-CCH-06: and the others cannot be read."""
    world = make_world(
        *map(namespace, ("one", "two", "three")),
        part("p", "one"),
        part("p", "two"),
        part("p", "three"),
        cache_by_kind={Part: CacheScope(namespaces={"one", "two"})},
    )
    reading(world, Part)
    with world.running():
        client = world.manager.client
        assert [obj.metadata.namespace for obj in client.list(Part)] == ["one", "two"]
        namespaces = {action.namespace for action in world.asked.actions() if of_parts(action)}
        assert namespaces == {"one", "two"}
        with pytest.raises(NamespaceNotCachedError, match="not watched in three"):
            client.list(Part, namespace="three")


def test_each_namespace_may_have_a_scope_of_its_own(make_world: Callable[..., World]) -> None:
    """OP-CCH-02, OP-CCH-03: with a star for all that are not named."""
    world = make_world(
        *map(namespace, ("one", "two")),
        part("web", "one", labels={"app": "web"}),
        part("db", "one", labels={"app": "db"}),
        part("web", "two", labels={"app": "web"}),
        part("db", "two", labels={"app": "db"}),
        cache_by_kind={
            Part: CacheScope(namespaces={"one": CacheScope(labels="app=web"), "*": None})
        },
    )
    reading(world, Part)
    with world.running():
        client = world.manager.client

        def names(**where: Any) -> list[str]:
            return [str(ObjectName.of(obj)) for obj in client.list(Part, **where)]

        assert names() == ["one/web", "two/db", "two/web"]
        assert names(namespace="one") == ["one/web"]
        assert names(namespace="two") == ["two/db", "two/web"]
        assert client.find(Part, "db", "one") is None
        assert client.find(Part, "db", "two") is not None


def test_a_source_outside_of_the_scope_is_refused_when_it_is_declared(
    make_world: Callable[..., World],
) -> None:
    """OP-NS-02"""
    world = make_world(cache_by_kind={Part: CacheScope(namespaces="one")})
    with pytest.raises(ConfigError, match="cached in one only, not in two"):
        world.manager.controller(Gadget).source(watch(Part, namespaces="two")).build(Recording())


# Transforms


def test_a_transform_decides_what_is_cached(make_world: Callable[..., World]) -> None:
    """OP-CCH-04: for reads, indexes and events alike, and for what is written here."""

    def without_colour(obj: Part) -> Part:
        obj.spec.colour = ""
        return obj

    red = Part(
        metadata=ObjectMeta(name="p", namespace="default"), spec=GadgetSpec(size=2, colour="red")
    )
    world = make_world(red, cache_by_kind={Part: CacheScope(transform=without_colour)})
    world.manager.index(Part, "colour", lambda obj: [obj.spec.colour or "none"])
    reading(world, Part)
    with world.running():
        client = world.manager.client
        written = client.create(
            Part(metadata=ObjectMeta(name="q", namespace="default"), spec=GadgetSpec(colour="red"))
        )
        assert written.spec.colour == "red"
        found = client.list(Part, fields={"colour": "none"})
        assert [(obj.metadata.name, obj.spec.colour) for obj in found] == [("p", ""), ("q", "")]


def test_what_was_read_in_part_is_not_written_back_as_a_whole(
    make_world: Callable[..., World],
) -> None:
    """OP-CCH-04: what the transform has left out stays in the cluster."""
    red = Part(
        metadata=ObjectMeta(name="p", namespace="default"), spec=GadgetSpec(size=2, colour="red")
    )
    world = make_world(red, cache_by_kind={Part: CacheScope(transform=keep_keys())})
    reading(world, Part)
    with world.running():
        client = world.manager.client
        found = client.get(Part, "p", "default")
        assert found.spec.size == 0
        found.metadata.labels["seen"] = "yes"
        client.update(found)
        stored = world.get(Part, "p")
        assert (stored.spec.size, stored.spec.colour) == (2, "red")
        assert stored.metadata.labels == {"seen": "yes"}
        found.metadata.labels["seen"] = "again"
        with pytest.raises(ConflictError):
            client.update(found)


def test_managed_fields_take_no_memory_once_they_are_stripped(world: World) -> None:
    """OP-CCH-04: the object that is left holds shorter JSON."""
    world.create(part("p", annotations={"a": "b" * 100}))
    whole = world.get(Part, "p")
    stripped = strip_managed_fields(deep_copy(whole))
    assert "managedFields" in whole.to_dict()["metadata"]
    assert stripped.to_dict()["metadata"] == {
        name: value
        for name, value in whole.to_dict()["metadata"].items()
        if name != "managedFields"
    }
    assert stripped.spec == whole.spec
    assert len(stripped._raw) < len(json.dumps(whole.to_dict()))
    assert b"managedFields" not in stripped._raw
    assert strip_managed_fields(stripped) is stripped


def test_only_some_fields_can_be_kept(world: World) -> None:
    """OP-CCH-04"""
    world.create(gadget())
    world.patch(gadget(), {"status": {"ready": 3}}, subresource="status")
    whole = world.get(Gadget)
    assert set(keep_keys("status")(whole).to_dict()) == {
        "apiVersion",
        "kind",
        "metadata",
        "status",
    }


# Lists


def test_a_cached_list_selects_sorts_and_counts(world: World) -> None:
    """OP-CCH-07: the limit counts what is selected."""
    web = {"app": "web"}
    world.create(
        namespace("other"),
        part("c", labels=web),
        part("a", labels=web),
        part("b"),
        part("a", "other", labels=web),
    )
    reading(world, Part)
    with world.running():
        client = world.manager.client

        def names(**where: Any) -> list[str]:
            return [str(ObjectName.of(obj)) for obj in client.list(Part, **where)]

        assert names() == ["default/a", "default/b", "default/c", "other/a"]
        assert (
            names(labels=web)
            == names(labels="app=web")
            == [
                "default/a",
                "default/c",
                "other/a",
            ]
        )
        assert names(labels="app,app!=db", namespace="default", limit=1) == ["default/a"]
        assert names(labels="!app") == ["default/b"]
        assert names(fields={"metadata.name": "a"}) == ["default/a", "other/a"]
        assert names(fields={"metadata.name": "a", "metadata.namespace": "other"}) == ["other/a"]


def test_own_writes_are_in_cached_lists_at_once(world: World) -> None:
    """OP-CLI-06: those that are selected, while the watch says nothing at all."""
    world.create(part("old", labels={"app": "web"}), part("gone", labels={"app": "web"}))
    world.manager.index(Part, "size", lambda obj: [str(obj.spec.size)])
    reading(world, Part)
    with world.running():
        client = world.manager.client
        (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]
        cache.stop()  # the watch lags, for ever
        client.create(part("new", labels={"app": "web"}))
        client.create(part("other", labels={"app": "db"}))
        client.delete(client.get(Part, "gone", "default"))
        old = client.get(Part, "old", "default")
        old.spec.size = 7
        client.update(old)

        def names(**where: Any) -> list[str]:
            return [obj.metadata.name for obj in client.list(Part, **where)]

        assert names(labels={"app": "web"}) == ["new", "old"]
        assert names(namespace="default") == ["new", "old", "other"]
        assert names(fields={"size": "7"}) == ["old"]
        assert names(fields={"size": "0"}) == ["new", "other"]
        assert client.find(Part, "gone", "default") is None


def test_what_leaves_the_selection_by_an_own_write_is_gone_at_once(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-06"""
    world = make_world(
        part("p", labels={"app": "web"}), cache_by_kind={Part: CacheScope(labels="app=web")}
    )
    reading(world, Part)
    with world.running():
        client = world.manager.client
        found = client.get(Part, "p", "default")
        found.metadata.labels["app"] = "db"
        client.update(found)
        assert client.list(Part) == []
        client.create(part("q", labels={"app": "db"}))
        assert client.list(Part) == []


# Resync and memory


def test_a_resync_looks_at_everything_again(make_world: Callable[..., World]) -> None:
    """OP-CCH-08: although nothing has changed; off unless it is asked for."""
    world = make_world(gadget(), cache_by_kind={Gadget: CacheScope(resync=60.0)})
    recording = Recording()
    world.register(recording, max_interval=None)
    with world.running():
        recording.wait_for_runs(1)
        world.clock.wait_for_waiters()
        world.clock.step(61)
        assert recording.wait_for_runs(2) == [A, A]


class Gauges:
    """A provider of metrics whose gauges can be waited for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._values: dict[tuple[str, str], float] = {}

    def gauge(self, metric: Metric, /, **labels: str) -> Any:
        name = metric.name, labels.get("kind", "")

        def set_to(value: float) -> None:
            with self._changed:
                self._values[name] = value
                self._changed.notify_all()

        def drop(*_: Any) -> None: ...

        return SimpleNamespace(set=set_to, inc=drop, dec=drop, remove=drop)

    def counter(self, metric: Metric, /, **labels: str) -> Any:
        return NO_METRICS.counter(metric, **labels)

    histogram = summary = counter

    def wait_for(self, kind: str, objects: float) -> float:
        """Block until so many objects are cached; returns their size."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._values.get(("operator_cache_objects", kind)) == objects, 5
            ), self._values
            return self._values["operator_cache_bytes", kind]


def test_objects_and_their_bytes_are_counted_by_kind(make_world: Callable[..., World]) -> None:
    """OP-CCH-10: and no longer when nobody watches them."""
    gauges = Gauges()
    world = make_world(part("p"), part("q"))
    world.manager = Manager(
        world.manager.base, metrics="0", clock=world.clock, metrics_provider=gauges
    )
    world.manager.controller(Gadget).watches(Part, by_name()).build(Recording())
    (controller,) = world.manager.controllers()
    with world.running():
        size = gauges.wait_for("parts.example.com", 2)
        assert size > 200
        world.delete(part("q"))
        assert 0 < gauges.wait_for("parts.example.com", 1) < size
        controller.remove_source("part")
        assert gauges.wait_for("parts.example.com", 0) == 0


def test_a_cache_of_all_secrets_is_worth_a_warning(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CCH-10: unless it is limited somehow."""
    for scope in (CacheScope(labels="x"), CacheScope(namespaces="one"), CacheScope()):
        caplog.clear()
        world = make_world(cache_by_kind={Secret: scope})
        world.manager.controller(Gadget).reads(Secret).build(Recording())
        with world.running():
            pass
        warned = "every Secret of the cluster will be cached, for gadget/reads-secrets; if"
        assert (warned in caplog.text) is (scope == CacheScope())


def test_a_context_reads_what_it_has_just_written(world: World) -> None:
    """OP-CLI-06, OP-CLI-01: in the run that wrote it."""
    seen: queue.Queue[list[str]] = queue.Queue()

    def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        ctx.client.create(ctx.own(part("child")))
        seen.put([found.metadata.name for found in ctx.secondaries(Part)])

    world.manager.controller(Gadget).owns(Part).build(Recording(reconcile))
    world.create(gadget())
    with world.running():
        assert seen.get(timeout=30) == ["child"]
