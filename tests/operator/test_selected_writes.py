"""Own writes in caches that hold only some objects of a kind, and deletions of many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.api.core_v1 import Namespace, Secret
from clientgo.client import ResourceClient
from clientgo.meta import AlreadyExistsError, ObjectMeta, shard_range
from clientgo.operator import CacheScope
from clientgo.testing import Verb
from tests.operator.test_cache import reading
from tests.operator.world import Part, World, part

WEB = {"app": "web"}


def secret(name: str, type_: str = "kubernetes.io/tls") -> Secret:
    return Secret(
        metadata=ObjectMeta(name=name, namespace="default"),
        type=type_,
        string_data={"tls.crt": "a", "tls.key": "b"},
    )


@contextmanager
def lagging(world: World, *kinds: Any) -> Iterator[Any]:
    """A cached client; the watches bring nothing any more of these kinds."""
    reading(world, *kinds)
    with world.running():
        for kind in kinds:
            world.manager.cache.declare(kind).stop()
        yield world.manager.client


def names(client: Any, kind: Any, **where: Any) -> list[str]:
    return [obj.metadata.name for obj in client.list(kind, **where)]


# Selectors of the cache


def test_what_the_field_selector_of_a_cache_does_not_match_is_not_read_from_it(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-06c"""
    scope = CacheScope(fields="type=kubernetes.io/tls")
    with lagging(make_world(secret("old"), cache_by_kind={Secret: scope}), Secret) as client:
        client.create(secret("inside"))
        client.create(secret("outside", "Opaque"))
        assert names(client, Secret) == ["inside", "old"]
        assert client.find(Secret, "outside", "default") is None
        with pytest.raises(AlreadyExistsError) as caught:
            client.create(secret("outside", "Opaque"))
    (note,) = caught.value.__notes__
    assert "only secrets with fields type=kubernetes.io/tls, so a read may not find it" in note
    assert "use create_or_update" in note


def test_an_own_write_that_leaves_or_enters_the_selection_takes_effect_at_once(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-06c: in every order, though the watch brings nothing."""
    scope = CacheScope(labels="app=web")
    world = make_world(part("a", labels=WEB), part("b"), cache_by_kind={Part: scope})
    with lagging(world, Part) as client:
        for label, found in (("db", ["b"]), ("web", ["a", "b"]), ("db", ["b"])):
            client.patch(part("b"), {"metadata": {"labels": WEB}})
            client.patch(part("a"), {"metadata": {"labels": {"app": label}}})
            assert names(client, Part) == found
            assert (client.find(Part, "a", "default") is not None) == ("a" in found)


def test_an_object_that_another_client_brings_back_into_the_selection_is_read(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-06c: what left is not hidden longer than the store needs to come as far."""
    scope = CacheScope(labels="app=web")
    world = make_world(part("a", labels=WEB), cache_by_kind={Part: scope})
    reading(world, Part)
    with world.running():
        client = world.manager.client
        client.patch(part("a"), {"metadata": {"labels": {"app": "db"}}})
        assert names(client, Part) == []
        world.patch(part("a"), {"metadata": {"labels": WEB}})
        world.clock.wait_for(lambda: names(client, Part) == ["a"])


def test_a_transform_does_not_hide_the_fields_that_are_selected_by(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-06c: the selection is the server's, made of the whole object."""

    def without_type(obj: Secret) -> Secret:
        obj.type = ""
        return obj

    scope = CacheScope(fields="type=kubernetes.io/tls", transform=without_type)
    with lagging(make_world(cache_by_kind={Secret: scope}), Secret) as client:
        client.create(secret("inside"))
        client.create(secret("outside", "Opaque"))
        assert [(obj.metadata.name, obj.type) for obj in client.list(Secret)] == [("inside", "")]


# Collections


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({}, ["kept"]),
        ({"labels": WEB}, ["b", "kept"]),
        ({"labels": "app!=web"}, ["a", "c", "kept"]),
        ({"fields": {"metadata.name": "c"}}, ["a", "b", "kept"]),
        ({"labels": WEB, "propagation": "Background"}, ["b", "kept"]),
        ({"labels": WEB, "propagation": "Foreground"}, ["a", "b", "c", "kept"]),
    ],
)
def test_a_collection_that_was_deleted_is_gone_from_the_cache(
    world: World, where: dict[str, Any], left: list[str]
) -> None:
    """OP-CLI-06b: those with finalizers are not, nor what the garbage collector deletes later."""
    world.create(Namespace(metadata=ObjectMeta(name="other")))
    world.create(part("a", labels=WEB), part("b"), part("elsewhere", "other", labels=WEB))
    with lagging(world, Part) as client:
        client.create(part("c", labels=WEB))
        client.create(part("kept", labels=WEB, finalizers=("example.com/a",)))
        client.delete_all_of(Part, namespace="default", **where)
        assert names(client, Part, namespace="default") == left
        assert names(client, Part, namespace="other") == ["elsewhere"]


def test_a_dry_run_deletes_no_collection_from_the_cache(world: World) -> None:
    """OP-CLI-06b"""
    world.create(part("a"))
    with lagging(world, Part) as client:
        client.dry_run().delete_all_of(Part, namespace="default")
        assert names(client, Part) == ["a"]


def test_only_what_the_server_has_deleted_counts(world: World) -> None:
    """OP-CLI-06b: another client has changed a label, of which the watch says nothing yet."""
    world.create(part("a", labels=WEB), part("b"))
    with lagging(world, Part) as client:
        world.patch(part("a"), {"metadata": {"labels": {"app": "db"}}})
        world.patch(part("b"), {"metadata": {"labels": WEB}})
        client.delete_all_of(Part, namespace="default", labels=WEB)
        assert names(client, Part) == ["a"]


def test_a_deletion_counts_finalizers_that_the_cache_has_not_seen(world: World) -> None:
    """OP-CLI-06b"""
    world.create(part("a"))
    with lagging(world, Part) as client:
        world.patch(part("a"), {"metadata": {"finalizers": ["example.com/a"]}})
        client.delete_all_of(Part, namespace="default")
        assert names(client, Part) == ["a"]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({}, []),
        ({"labels": WEB}, ["b"]),
        ({"fields": {"metadata.name": "c"}, "labels": WEB}, ["a", "b"]),
    ],
)
def test_a_server_that_does_not_say_what_it_has_deleted_is_believed(
    world: World, monkeypatch: pytest.MonkeyPatch, where: dict[str, Any], left: list[str]
) -> None:
    """OP-CLI-06b: an aggregated API may answer with a Status."""
    delete = ResourceClient.delete_collection

    def without_answer(*args: Any, **options: Any) -> None:
        delete(*args, **options)

    monkeypatch.setattr(ResourceClient, "delete_collection", without_answer)
    world.create(part("a", labels=WEB), part("b"))
    with lagging(world, Part) as client:
        client.create(part("c", labels=WEB))
        client.delete_all_of(Part, namespace="default", **where)
        assert names(client, Part) == left


# Deletions with a version


def test_the_version_in_the_answer_to_a_deletion_is_remembered(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CLI-06a"""
    world, deleted = make_world(part("a"), part("b")), []
    with lagging(world, Part) as client:
        (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]
        monkeypatch.setattr(
            cache.own_writes, "deleted", lambda obj, at: deleted.append((obj.metadata.name, at))
        )
        client.delete(part("a"))
        monkeypatch.setattr(ResourceClient, "delete", lambda *_, **__: "99")
        client.delete(part("b"))

    assert deleted == [("a", ""), ("b", "99")]


# Reads without own writes


def test_a_client_without_own_writes_reads_what_the_watch_has_brought(
    make_world: Callable[..., World],
) -> None:
    """OP-CLI-15: created, changed and deleted objects; one by one, in lists and by an index."""
    world = make_world(part("a", labels=WEB), part("b", labels=WEB))
    world.manager.index(Part, "app", lambda obj: [obj.metadata.labels.get("app", "")])
    with lagging(world, Part) as client:
        client.create(part("c", labels=WEB))
        client.patch(part("a"), {"metadata": {"labels": {"app": "db"}}})
        client.delete(part("b"))
        seen = client.without_own_writes()

        assert names(client, Part) == ["a", "c"]
        assert names(seen, Part) == ["a", "b"]
        assert names(client, Part, fields={"app": "web"}) == ["c"]
        assert names(seen, Part, fields={"app": "web"}) == ["a", "b"]
        assert client.find(Part, "b", "default") is None
        assert seen.get(Part, "b", "default").metadata.labels == WEB
        assert seen.find(Part, "c", "default") is None
        assert names(seen.live, Part) == ["a", "c"], "the API server has no other view"


# A shard of the API server's


def test_a_shard_is_asked_for_and_own_writes_outside_of_it_are_not_read(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-BLD-16, LWT-06: the embedded server ignores shards, and that is logged once."""
    shard = shard_range(0, 2)
    world = make_world(
        *(part(f"p{number}") for number in range(12)),
        cache_by_kind={Part: CacheScope(shard=shard)},
    )
    with lagging(world, Part) as client:
        made = [client.create(part(f"q{number}")) for number in range(12)]
        inside = [obj.metadata.name for obj in made if shard.matches(obj)]
        (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]

        assert [name for name in names(client, Part) if name[0] == "q"] == sorted(inside)
        for obj in made:
            found = client.find(Part, obj.metadata.name, "default")
            assert (found is not None) == (obj.metadata.name in inside)
        assert cache.limits() == f"in {shard}"
        assert cache.is_limited("default")

    asked = {
        action.verb: action.options.get("shardSelector")
        for action in world.asked.actions()
        if action.resource.resource == "parts" and action.verb in (Verb.LIST, Verb.WATCH)
    }
    assert asked[Verb.WATCH] == str(shard)
    assert set(asked.values()) == {str(shard)}
    ignored = [text for text in caplog.messages if "ignores the shard selector of parts" in text]
    assert len(ignored) == 1
