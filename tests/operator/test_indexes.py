"""Lists that look up instead of looking through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.core_v1 import Namespace
from clientgo.meta import BadRequestError, ObjectMeta, ObjectName, OwnerReference
from clientgo.operator.errors import DeclarationError, IndexNotFoundError
from clientgo.operator.mappers import owner_index
from tests.operator.world import Gadget, Part, Planet, Recording, World, gadget, part


def coloured(name: str, colour: str, namespace: str = "default", size: int = 0) -> Part:
    obj = part(name, namespace)
    obj.spec.colour, obj.spec.size = colour, size
    return obj


def colour_of(obj: Part) -> list[str]:
    return [obj.spec.colour] if obj.spec.colour else []


@pytest.fixture
def indexed(make_world: Callable[..., World]) -> World:
    """Parts in two namespaces, indexed by colour and by size."""
    world = make_world(
        Namespace(metadata=ObjectMeta(name="other")),
        coloured("a", "red", size=1),
        coloured("b", "red", size=2),
        coloured("c", ""),
        coloured("a", "red", "other", size=1),
    )
    world.manager.index(Part, "colour", colour_of)
    world.manager.index(Part, "size", lambda obj: [str(obj.spec.size)])
    world.manager.controller(Gadget).reads(Part).build(Recording())
    return world


def keys(world: World, **where: Any) -> list[str]:
    return [str(ObjectName.of(obj)) for obj in world.manager.client.list(Part, **where)]


def test_a_list_by_an_index_has_the_objects_with_the_value(indexed: World) -> None:
    """OP-IDX-02, OP-IDX-03: everywhere, in one namespace, and of two indexes those of both."""
    with indexed.running():
        red = {"colour": "red"}
        assert keys(indexed, fields=red) == ["default/a", "default/b", "other/a"]
        assert keys(indexed, fields=red, namespace="other") == ["other/a"]
        assert keys(indexed, fields=red | {"size": "2"}) == ["default/b"]
        assert keys(indexed, fields={"colour": "blue"}) == []
        assert keys(indexed, fields={"colour": ""}) == []


def test_an_index_follows_the_objects(indexed: World) -> None:
    """OP-IDX-02: what is written here counts at once, by its new value."""
    with indexed.running():
        client = indexed.manager.client
        found = client.get(Part, "a", "default")
        found.spec.colour = "blue"
        client.update(found)
        assert keys(indexed, fields={"colour": "red"}) == ["default/b", "other/a"]
        assert keys(indexed, fields={"colour": "blue"}) == ["default/a"]


def test_an_index_must_be_declared_and_says_which_are(indexed: World) -> None:
    """OP-IDX-02"""
    with indexed.running(), pytest.raises(IndexNotFoundError, match="it has colour, size"):
        keys(indexed, fields={"shape": "round"})


def test_the_name_of_an_index_is_its_own(world: World) -> None:
    """OP-IDX-01"""
    world.manager.index(Part, "colour", colour_of)
    world.manager.index(Gadget, "colour", colour_of)
    with pytest.raises(DeclarationError, match="Part has an index 'colour' already"):
        world.manager.index(Part, "colour", colour_of)


def test_an_index_comes_too_late_once_something_is_cached(indexed: World) -> None:
    """OP-IDX-01: for a kind of which nothing is cached it does not."""
    with indexed.running():
        with pytest.raises(DeclarationError, match="before the manager is started"):
            indexed.manager.index(Part, "late", colour_of)
        indexed.manager.index(Planet, "late", colour_of)


def test_an_object_that_an_index_fails_for_is_there_without_it(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-IDX-04: the error is counted and the others are indexed."""

    def touchy(obj: Part) -> list[str]:
        if obj.metadata.name == "b":
            raise RuntimeError("not this one")
        return ["fine"]

    world = make_world(part("a"), part("b"), part("c"))
    world.manager.index(Part, "touchy", touchy)
    world.manager.controller(Gadget).reads(Part).build(Recording())
    with world.running():
        assert keys(world) == ["default/a", "default/b", "default/c"]
        assert keys(world, fields={"touchy": "fine"}) == ["default/a", "default/c"]
        world.manager.client.create(part("d"))
        assert keys(world, fields={"touchy": "fine"}) == ["default/a", "default/c", "default/d"]
    assert "index of default/b: not this one" in caplog.text
    (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]
    assert cache.indexes.errors >= 1


def test_an_index_function_that_returns_a_text_is_an_error(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-IDX-04: and does not index by its letters."""
    wrong: Any = lambda obj: obj.metadata.name  # noqa: E731
    world = make_world(part("a"))
    world.manager.index(Part, "name", wrong)
    world.manager.controller(Gadget).reads(Part).build(Recording())
    with world.running():
        assert keys(world, fields={"name": "a"}) == []
    assert "an index function returns a list of texts, not 'a'" in caplog.text


def test_the_objects_that_a_primary_controls(world: World) -> None:
    """OP-IDX-05: group and kind of the owner have to match, and it has to be the controller."""

    def owned(name: str, kind: str = "Gadget", *, controller: bool = True, **fields: Any) -> Part:
        said: dict[str, Any] = {"api_version": "example.com/v1", "kind": kind, "name": "a"}
        said |= {"uid": "u", "controller": controller, **fields}
        return part(name, owner_references=(OwnerReference(**said),))

    name, function = owner_index(Gadget)
    assert name == ".metadata.controller"
    assert function(owned("ours")) == ["a"]
    assert function(owned("ours", api_version="example.com/v2")) == ["a"]
    assert function(owned("of another kind", "Watcher")) == []
    assert function(owned("of another group", api_version="example.org/v1")) == []
    assert function(owned("not controlled", controller=False)) == []
    assert function(part("nobody's")) == []
    world.manager.index(Part, *owner_index(Gadget))
    world.manager.controller(Gadget).owns(Part).build(Recording())
    world.create(gadget())
    world.create(owned("ours", uid=world.get(Gadget).metadata.uid), part("free"))
    with world.running():
        assert keys(world, namespace="default", fields={name: "a"}) == ["default/ours"]


def test_a_live_list_selects_by_what_the_server_can_select_by(indexed: World) -> None:
    """OP-IDX-06: and is refused otherwise, instead of looking through everything in silence."""
    live = indexed.manager.live
    found = live.list(Part, fields={"metadata.name": "a"})
    assert [obj.metadata.namespace for obj in found] == ["default", "other"]
    with pytest.raises(BadRequestError):
        live.list(Part, fields={"colour": "red"})
