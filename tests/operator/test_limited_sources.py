"""Sources that are limited to labels, and caches that hold less than is watched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clientgo.meta import ObjectMeta, ObjectName, OwnerReference
from clientgo.operator import CacheScope, Context, controller, watch
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.mappers import by_name
from clientgo.operator.predicates import label_selector
from tests.operator.world import Gadget, Part, Recording, Watcher, World, gadget, part

WEB = {"app": "web"}


@controller(Gadget, sources=[watch(Part, labels=WEB, mapper=by_name())])
class OfWeb(Recording):
    """Runs for the Gadget that is called as a Part with the label."""


@controller(Watcher, sources=[watch(Part, mapper=by_name())])
class OfAll(Recording):
    """Runs for the Watcher that is called as any Part."""


def watcher(name: str) -> Watcher:
    return Watcher(metadata=ObjectMeta(name=name, namespace="default"))


def selectors(world: World) -> set[str]:
    """The label selectors with which Parts were listed."""
    return {
        action.options.get("labelSelector", "")
        for action in world.asked.actions()
        if "parts" in str(action) and action.verb in ("list", "watch")
    }


def test_labels_of_a_source_are_for_the_server_if_no_other_source_wants_more(
    make_world: Callable[..., World],
) -> None:
    """OP-CCH-02"""
    world = make_world(part("a", labels=WEB), part("b"))
    world.manager.register(OfWeb())
    with world.running():
        assert [obj.metadata.name for obj in world.manager.client.list(Part)] == ["a"]
    assert selectors(world) == {"app=web"}


def test_a_source_that_wants_more_widens_the_cache_and_not_the_other_source(
    make_world: Callable[..., World],
) -> None:
    """OP-CCH-02: a second kind's watch used to see nothing."""
    world = make_world(watcher("a"), gadget("a"), gadget("b"))
    narrow, wide = OfWeb(), OfAll()
    world.manager.register(narrow)
    world.manager.register(wide)
    with world.running():
        wide.wait_for_runs(1)
        narrow.wait_for_runs(2)
        world.create(part("a"))
        wide.wait_for_runs(2)
        world.create(part("b", labels=WEB))
        narrow.wait_for_runs(3)
        assert [obj.metadata.name for obj in world.manager.client.list(Part)] == ["a", "b"]
    assert selectors(world) == {""}
    assert narrow.runs[2:] == [ObjectName("default", "b")]


def test_an_object_that_gets_or_loses_the_label_comes_and_goes(
    make_world: Callable[..., World],
) -> None:
    """OP-PRD-11: also where another source keeps it in the cache."""
    world = make_world(gadget("a"), part("a"))
    narrow = OfWeb()
    world.manager.register(narrow)
    world.manager.register(OfAll())
    with world.running():
        narrow.wait_for_runs(1)
        world.patch(part("a"), {"metadata": {"labels": WEB}})
        narrow.wait_for_runs(2)
        world.patch(part("a"), {"metadata": {"labels": {"app": None}}})
        narrow.wait_for_runs(3)


def test_secondaries_are_those_of_the_source(make_world: Callable[..., World]) -> None:
    """OP-CTX-03"""
    seen: list[list[str]] = []

    @controller(Gadget, owns=[watch(Part, labels=WEB)])
    class Owning(Recording):
        pass

    def look(ctx: Context[Gadget], _obj: object) -> None:
        seen.append([obj.metadata.name for obj in ctx.secondaries(Part)])

    world = make_world(gadget("a"))
    owner = world.get(Gadget)
    reference = OwnerReference(
        api_version="example.com/v1",
        kind="Gadget",
        name="a",
        uid=owner.metadata.uid,
        controller=True,
    )
    for name, labels in (("with", WEB), ("without", {})):
        world.create(part(name, labels=labels, owner_references=[reference]))
    owning = Owning(look)
    world.manager.register(owning)
    world.manager.register(OfAll())
    with world.running():
        owning.wait_for_runs(1)
    assert seen == [["with"]]


@pytest.mark.parametrize("others", [False, True])
def test_a_controller_with_labels_has_no_other_primaries(
    make_world: Callable[..., World], others: bool
) -> None:
    """Events of secondaries, and timers, do not run one; the labels may come and go.

    Also where another controller keeps all of the kind in the cache.
    """
    world = make_world(gadget("ours", labels=WEB), gadget("theirs"), part("theirs"))
    narrow, everything = Recording(), Recording()
    builder = world.manager.controller(Gadget).options(labels=WEB, max_interval=60, name="narrow")
    controller = builder.watches(Part, by_name()).build(narrow)
    if others:
        world.manager.controller(Gadget).options(name="all").build(everything)
    ours, theirs = ObjectName("default", "ours"), ObjectName("default", "theirs")
    with world.running():
        narrow.wait_for_runs(1)
        world.patch(part("theirs"), {"spec": {"size": 5}})
        world.create(part("ours"))
        narrow.wait_for_runs(2)

        world.patch(gadget("theirs"), {"metadata": {"labels": WEB}})
        narrow.wait_for_runs(3)
        world.patch(gadget("ours"), {"metadata": {"labels": {"app": None}}})
        world.clock.wait_for(lambda: controller.queue.statistics().known == 1)
        world.clock.step(61)
        assert narrow.wait_for_runs(4) == [ours, ours, theirs, theirs]
        assert controller.explain(ours).has("predicate" if others else "narrowed")


def test_labels_that_are_none_are_refused_where_they_are_written() -> None:
    """OP-CFG-06"""
    for declare in (
        lambda: controller(Gadget, labels="a in b"),
        lambda: controller(Gadget, labels={"a b": "c"}),
        lambda: watch(Part, labels="a in b"),
        lambda: label_selector("a in b"),
    ):
        with pytest.raises(ConfigError, match="selects nothing"):
            declare()


def test_a_wider_source_is_refused_once_the_narrow_cache_runs(
    make_world: Callable[..., World],
) -> None:
    """OP-NS-02"""
    world = make_world()
    world.manager.register(OfWeb())
    with (
        world.running(),
        pytest.raises(DeclarationError, match="only those with app=web are cached already"),
    ):
        world.manager.register(OfAll())


def test_limited_kinds_are_logged_at_the_start(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CCH-02"""
    caplog.set_level("INFO", "clientgo.operator.cache")
    world = make_world(cache_by_kind={Gadget: CacheScope(labels="shard=1")})
    world.manager.register(OfWeb())
    with world.running():
        pass
    lines = [record.getMessage() for record in caplog.records]
    assert lines[:2] == [
        "gadgets.example.com: only objects with labels shard=1 are cached, for gadget/primary",
        "parts.example.com: only objects with labels app=web are cached, for gadget/part",
    ]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("scope", "hidden"),
    [
        (CacheScope(labels="app=web"), "with labels app=web"),
        (CacheScope(namespaces={"one"}), "in namespaces one"),
    ],
)
def test_a_source_that_watches_more_than_its_cache_holds_is_warned_of(
    make_world: Callable[..., World],
    caplog: pytest.LogCaptureFixture,
    scope: CacheScope,
    hidden: str,
) -> None:
    """OP-CCH-02: it sees nothing of the rest."""
    world = make_world(cache_by_kind={Part: scope})
    world.manager.register(OfAll())
    with world.running():
        pass
    (warning,) = [r.getMessage() for r in caplog.records if "watches all" in r.getMessage()]
    assert hidden in warning


def test_a_source_with_the_labels_of_its_cache_is_not(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CCH-02"""
    world = make_world(cache_by_kind={Part: CacheScope(labels="app=web")})
    world.manager.register(OfWeb())
    with world.running():
        pass
    assert "watches all" not in caplog.text
