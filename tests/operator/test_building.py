"""Declaring a controller: by decorator or step by step, and what is refused."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.operator import Context, Manager, Predicate, controller, watch
from clientgo.operator.controller.builder import ControllerBuilder
from clientgo.operator.controller.declaration import declaration_of
from clientgo.operator.errors import ConfigError, DeclarationError, KindNotCachedError
from clientgo.operator.mappers import by_name
from clientgo.operator.runs import Run
from clientgo.operator.sources import inbound
from clientgo.rest import RestConfig
from tests.operator.world import (
    PATIENCE,
    Gadget,
    Part,
    Planet,
    Recording,
    Watcher,
    World,
    gadget,
    part,
)


def test_a_controller_has_one_primary_kind(world: World) -> None:
    """OP-BLD-01"""
    with pytest.raises(DeclarationError, match="one primary kind"):
        world.manager.controller(Gadget).for_(Part)


@pytest.mark.parametrize("step", ["owns", "watches", "build"])
def test_without_a_primary_kind_nothing_can_be_declared(world: World, step: str) -> None:
    """OP-BLD-02, OP-BLD-06"""
    builder: ControllerBuilder[Any] = world.manager.controller()
    steps: dict[str, Callable[[], object]] = {
        "owns": lambda: builder.owns(Part),
        "watches": lambda: builder.watches(Part, by_name()),
        "build": lambda: builder.build(Recording()),
    }
    with pytest.raises(DeclarationError, match="call for_"):
        steps[step]()


def test_a_builder_builds_once(world: World) -> None:
    """OP-BLD-06"""
    builder = world.manager.controller(Gadget)
    builder.build(Recording())
    with pytest.raises(DeclarationError, match="was built already"):
        builder.build(Recording())


class WithBoth:
    def reconcile(self, ctx: Context[Any], obj: Any) -> None: ...

    def reconcile_key(self, ctx: Context[Any], key: ObjectName) -> None: ...


class WithNeither:
    def cleanup(self, ctx: Context[Any], obj: Any) -> None: ...


class Async(Recording):
    async def setup(self, manager: Any) -> None: ...


class TooFew:
    def reconcile(self, ctx: Context[Any]) -> None: ...


class BadCleanup(Recording):
    def cleanup(self, ctx: Context[Any]) -> None: ...


class NoMethod(Recording):
    on_error = "later"


class Misspelled(Recording):
    def clean_up(self, ctx: Context[Any], obj: Any) -> None: ...


class American(Recording):
    def initialize(self, obj: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("reconciler", "message"),
    [
        (Misspelled(), "Misspelled.clean_up is never called; write cleanup"),
        (American(), "American.initialize is never called; write initialise"),
        (WithBoth(), "must have either"),
        (WithNeither(), "must have either"),
        (Async(), "is async"),
        (TooFew(), "called with 2 arguments"),
        (BadCleanup(), "cleanup is called with 2 arguments"),
        (NoMethod(), "must be a method"),
        (Recording, "not the class"),
    ],
)
def test_a_reconciler_that_could_not_be_called_is_refused(
    world: World, reconciler: Any, message: str
) -> None:
    """OP-BLD-10, OP-BLD-06: when it is built, with what to write instead."""
    with pytest.raises(DeclarationError, match=message):
        world.register(reconciler)


def test_a_method_may_be_named_like_one_that_is_called_beside_it(world: World) -> None:
    """OP-BLD-10"""

    class Both(Misspelled):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None:
            self.clean_up(ctx, obj)

    world.register(Both())


def test_a_class_is_refused_where_an_object_is_meant(world: World) -> None:
    """OP-BLD-10"""
    with pytest.raises(DeclarationError, match=r"pass a reconciler, as Recording\(\), not the cl"):
        world.manager.register(Recording)


def test_a_decorator_without_a_kind_says_how_it_is_written() -> None:
    """OP-BLD-06"""
    decorate: Any = controller
    with pytest.raises(
        DeclarationError, match=r"write @controller\(Kind, \.\.\.\) above Recording"
    ):
        decorate(Recording)


def test_the_name_is_that_of_the_kind_unless_given(world: World) -> None:
    """OP-BLD-07"""
    assert world.register(Recording()).name == "gadget"
    assert world.register(Recording(), Part, name="sweeper").name == "sweeper"


def test_names_are_unique_in_a_manager(make_world: Callable[..., World]) -> None:
    """OP-BLD-07, OP-MGR-25: and another manager knows nothing of them."""
    world = make_world()
    world.register(Recording())
    with pytest.raises(DeclarationError, match="'gadget' already"):
        world.register(Recording())
    world.register(Recording(), allow_duplicate_name=True)
    make_world().register(Recording())


@pytest.mark.parametrize("name", ["Gadget", "-x", "x-", "a b"])
def test_a_name_is_one_that_fits_into_metrics_and_events(world: World, name: str) -> None:
    """OP-BLD-07"""
    with pytest.raises(ConfigError, match="no name of a controller"):
        world.register(Recording(), name=name)


def test_the_number_of_workers(make_world: Callable[..., World]) -> None:
    """OP-BLD-08, OP-CTL-01: of the controller, else of the kind, else of the manager, else one."""
    assert make_world().register(Recording()).config.workers == 1
    world = make_world(workers=2, workers_by_kind={"Part.example.com": 3})
    assert world.register(Recording()).config.workers == 2
    assert world.register(Recording(), Part).config.workers == 3
    assert world.register(Recording(), Watcher, workers=4).config.workers == 4


def test_decorator_and_builder_declare_the_same(make_world: Callable[..., World]) -> None:
    """OP-BLD-09"""

    @controller(Gadget, owns=[Part], reads=[ConfigMap], workers=3, name="twice")
    class Decorated(Recording):
        pass

    first = make_world().manager.register(Decorated())
    builder = make_world().manager.controller(Gadget).owns(Part).reads(ConfigMap)
    second = builder.options(workers=3, name="twice").build(Recording())
    assert first.config == second.config
    assert [source.name for source in first.sources()] == [s.name for s in second.sources()]
    assert first.declaration.reads == second.declaration.reads


def test_an_override_beats_the_decorator(world: World) -> None:
    """OP-CFG-03"""

    @controller(Gadget, workers=3)
    class Decorated(Recording):
        pass

    assert world.manager.register(Decorated(), workers=5).config.workers == 5


def test_a_class_must_be_declared_to_be_registered(world: World) -> None:
    """OP-BLD-09"""
    with pytest.raises(DeclarationError, match="decorate it with"):
        world.manager.register(Recording())


def test_a_setting_that_there_is_not_is_refused_with_what_is_near() -> None:
    """OP-CFG-06, OP-CFG-04"""
    with pytest.raises(ConfigError, match="did you mean workers"):
        controller(Gadget, worker=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 0},
        {"reconcile_timeout": 0},
        {"retry": "often"},
        {"give_up_after": -1},
        {"max_interval": "10h"},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_where_it_is_made(options: dict[str, Any]) -> None:
    """OP-CFG-06, OP-CFG-05"""
    with pytest.raises(ConfigError):
        controller(Gadget, **options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"workers": "2"}, "a controller: workers must be int, not '2'"),
        ({"workers": True}, "a controller: workers must be int, not True"),
        ({"rate_limit": 3}, "a controller: rate_limit must be RateLimit or None, not 3"),
        ({"max_interval": "10m"}, "max_interval must be seconds or a timedelta, not '10m'"),
        ({"own": [Part]}, "a controller has no setting 'own'; did you mean owns"),
        ({"watches": [Part]}, "no setting 'watches'; write sources=[watch(Kind, mapper=...)]"),
        ({"max_concurrent_reconciles": 2}, "write workers=..."),
        ({"owns": Part}, "owns must be a list, as owns=[...], not <class"),
        ({"changes": "spec.size"}, "changes must be a list, as changes=[...], not 'spec.size'"),
        ({"predicate": len}, "<built-in function len> is no predicate: write Predicate.of"),
    ],
)
def test_an_argument_of_another_type_is_refused_by_its_name(
    arguments: dict[str, Any], said: str
) -> None:
    """OP-CFG-06"""
    with pytest.raises(ConfigError, match=re.escape(said)):
        controller(Gadget, **arguments)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"metrics": 8080}, "a manager: metrics must be str, not 8080"),
        ({"leader_election": True}, "leader_election must be LeaderElection or None, not True"),
        ({"webhook": {"port": 1}}, "webhook must be WebhookOptions or None, not {'port': 1}"),
        ({"checks": "caches"}, "checks must be Collection[str], not 'caches'"),
    ],
)
def test_a_setting_of_another_type_is_refused_by_its_name(
    settings: dict[str, Any], said: str
) -> None:
    """OP-CFG-06"""
    with pytest.raises(ConfigError, match=re.escape(said)):
        Manager(RestConfig(server="http://127.0.0.1:1"), **settings)


def test_a_kind_is_a_class_that_is_declared() -> None:
    kinds: Any = "Gadget"
    for arguments in ({"primary": kinds}, {"primary": Gadget, "reads": [kinds]}):
        with pytest.raises(TypeError, match="'Gadget' is no class; pass one that is declared"):
            controller(**arguments)


def test_a_mapper_that_cannot_be_called_is_refused_where_it_is_made() -> None:
    """OP-CFG-06: at its first event it would be too late, and the event dropped."""
    wrong: Any = lambda obj: [obj]  # noqa: E731
    with pytest.raises(DeclarationError, match=r"a mapper is called as mapper\(context, obj\)"):
        watch(Part, mapper=wrong)


def test_workers_of_a_kind_that_there_is_not_are_refused(make_world: Callable[..., World]) -> None:
    """OP-CFG-06: a misspelled kind would have the default without a word."""
    world = make_world(workers_by_kind={"Gadget": 3})
    world.register(Recording())
    with pytest.raises(ConfigError, match=r"has 'Gadget', .* but Gadget\.example\.com"):
        world.manager.start()


def test_events_of_owned_and_watched_kinds_wake_their_primaries(world: World) -> None:
    """OP-BLD-02, OP-BLD-03, BP-23, OP-SRC-03: two watches on one kind are one informer."""
    world.create(gadget())
    recording = Recording()
    built = (
        world.manager.controller(Gadget)
        .owns(Part)
        .watches(Part, by_name(), name="namesakes")
        .build(recording)
    )
    with world.running():
        recording.wait_for_runs(1)
        world.create(part("a"))
        recording.wait_for_runs(2)
        watches = [a for a in world.asked.actions() if "watch parts" in str(a)]
    assert {source.name for source in built.sources()} == {"primary", "part", "namesakes"}
    assert len(watches) == 1, "one list and watch serves both"


def test_the_predicates_of_a_controller_apply_to_kinds_and_not_to_sources(world: World) -> None:
    """OP-BLD-04, OP-BLD-05"""
    told = inbound()
    world.create(gadget())
    recording = Recording()
    no = Predicate.of(lambda _obj: False)
    builder = world.manager.controller(Gadget).owns(Part).with_predicate(no).source(told)
    builder.build(recording)
    with world.running():
        world.create(part("a"))
        told.notify(ObjectName("default", "a"))
        assert recording.wait_for_runs(1) == [ObjectName("default", "a")]


def test_a_source_must_have_a_name_of_its_own(world: World) -> None:
    """OP-BLD-06"""
    with pytest.raises(DeclarationError, match="two sources called 'part'"):
        world.manager.controller(Gadget).owns(Part).owns(Part).build(Recording())


def test_only_declared_kinds_can_be_read_from_the_cache(world: World) -> None:
    """OP-BLD-12, OP-CCH-06: and nobody starts an informer for others."""
    world.create(gadget(), Watcher(metadata=ObjectMeta(name="w", namespace="default")))
    seen: list[Any] = []

    def read(ctx: Context[Any], _obj: Gadget) -> None:
        seen.extend(ctx.client.list(Watcher))
        with pytest.raises(KindNotCachedError, match=r"reads=\[Part\]"):
            ctx.client.get(Part, "p", "default")
        assert ctx.client.live.find(Part, "p", "default") is None
        done.set()

    done = threading.Event()
    world.manager.controller(Gadget).reads(Watcher).build(Recording(read))
    with world.running():
        assert done.wait(30)
        asked = {
            action.resource.resource for action in world.asked.actions() if action.verb == "list"
        }
    assert [obj.metadata.name for obj in seen] == ["w"]
    assert "parts" not in asked


def test_a_primary_may_be_of_a_core_kind(world: World) -> None:
    """OP-BLD-13: it needs no generation."""
    world.create(ConfigMap(metadata=ObjectMeta(name="c", namespace="default")))
    recording = Recording()
    world.register(recording, ConfigMap)
    with world.running():
        assert recording.wait_for_runs(1) == [ObjectName("default", "c")]
        config = world.get(ConfigMap, "c")
        world.patch(config, {"data": {"a": "b"}})
        recording.wait_for_runs(2)


def test_a_reconciler_may_bring_sources_of_its_own(world: World) -> None:
    """OP-BLD-10: sources(ctx) is asked once, when the controller is built."""
    told = inbound(name="mine")

    class Bringing(Recording):
        def sources(self, ctx: Any) -> Iterable[Any]:
            return [told]

    built = world.register(Bringing())
    assert "mine" in {source.name for source in built.sources()}


def test_a_reconciler_may_set_itself_up(world: World) -> None:
    """OP-BLD-10: setup(manager) is called once when the controller is registered."""

    class SettingUp(Recording):
        def setup(self, manager: Any) -> None:
            manager.index(Gadget, "size", lambda obj: [str(obj.spec.size)])

    world.create(gadget())
    reconciler = SettingUp()
    world.register(reconciler)
    with world.running():
        reconciler.wait_for_runs(1)
        found = world.manager.client.list(Gadget, fields={"size": "1"})
    assert [obj.metadata.name for obj in found] == ["a"]


def test_a_source_may_come_and_go_while_the_controller_runs(world: World) -> None:
    """OP-BLD-15, OP-SRC-02: the source of the primaries itself stays."""
    world.create(gadget())
    recording, told = Recording(), inbound(name="late")
    built = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        built.add_source(told)
        told.notify(ObjectName("default", "a"))
        recording.wait_for_runs(2)
        built.remove_source("late")
        assert [source.name for source in built.sources()] == ["primary"]
        with pytest.raises(ValueError, match="cannot be removed"):
            built.remove_source("primary")


def test_a_declaration_can_be_read_back() -> None:
    """OP-BLD-09"""

    @controller(Planet, workers=2)
    class Decorated(Recording):
        pass

    assert declaration_of(Decorated()).options == {"workers": 2}


def test_what_is_no_source_is_refused_with_what_to_do(world: World) -> None:
    """A source is a subclass of Source; another object may lack half of it."""
    with pytest.raises(DeclarationError, match=r"is no source; write .* or subclass Source"):
        world.manager.controller(Gadget).source(cast(Any, object())).build(Recording())


@pytest.mark.parametrize(("fair", "first"), [(True, ["many", "one"]), (False, ["many", "many"])])
def test_a_controller_can_let_namespaces_take_turns(
    make_world: Callable[..., World], fair: bool, first: list[str]
) -> None:
    queue = make_world().register(Recording(), fair_namespaces=fair).queue
    for namespace, name in (("many", "a"), ("many", "b"), ("many", "c"), ("one", "d")):
        queue.trigger(ObjectName(namespace, name))
    ran: list[str] = []
    all_ran = threading.Event()

    def note(run: Run) -> None:
        ran.append(run.key.namespace)
        run.gone()
        if len(ran) == 4:
            all_ran.set()

    queue.start(note, 1)
    assert all_ran.wait(PATIENCE)
    queue.stop()

    assert ran[:2] == first
