"""One run of a reconciler without threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import InvalidError, ObjectMeta, ObjectName, StatusError
from clientgo.operator import Context, Manager, Result, TerminalError, controller
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.addons.polling import poll
from clientgo.operator.errors import DeclarationError, KindNotCachedError
from clientgo.operator.sources import Sink, Source, SourceContext, inbound
from clientgo.testing import FakeClock
from clientgo.testing.operator import replay, run_once
from tests.operator.world import Gadget, GadgetSpec, GadgetStatus, Part, Planet, Watcher, gadget


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@controller(Gadget, owns=[ConfigMap])
class Keeping:
    """Keeps a ConfigMap for each gadget."""

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
        wanted = config_map(obj.metadata.name, size=str(obj.spec.size))
        ctx.client.create_or_update(ctx.own(wanted))
        obj.status = GadgetStatus(ready=len(ctx.secondaries(ConfigMap)))
        ctx.events.normal("Kept", "it is there")
        return Result.status(obj).after(30)


def test_a_run_tells_its_result_its_requests_its_events_and_what_is_there_then() -> None:
    """OP-TST-02"""
    record = run_once(Keeping(), gadget())
    assert record.error is None
    assert record.result is not None
    assert record.result.delay == record.next_look == 30
    assert record.writes == ["create configmaps default/a", "patch gadgets/status default/a"]
    assert record.obj.status.ready == 1
    made = record.get(ConfigMap, "a")
    assert made is not None
    assert made.data == {"size": "1"}
    assert [event.reason for event in record.events] == ["Kept"]


def test_no_thread_is_started() -> None:
    """OP-TST-02: dependents that are written at the same time have theirs for that long."""
    before = threading.active_count()
    record = run_once(Keeping(), gadget(), world=[config_map("other")])
    assert threading.active_count() == before
    assert len(record.all(ConfigMap)) == 2


def test_an_idempotent_reconciler_writes_nothing_when_it_runs_again() -> None:
    """OP-TST-02, OP-REC-09"""
    first, second = replay(Keeping(), gadget())
    assert first.writes
    assert second.writes == []
    assert second.result == Result.status(second.result and second.result.obj).after(30)


def test_what_is_wrong_with_a_reconciler_shows_when_it_runs_again() -> None:
    """OP-REC-09"""

    class Forgetful:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            obj.spec.size += 1
            ctx.client.update(obj)

    assert [record.writes for record in replay(Forgetful(), gadget(), times=3)] == [
        ["update gadgets default/a"]
    ] * 3


def test_the_world_is_read_through_the_caches_that_were_declared() -> None:
    """OP-TST-02: what is not declared cannot be read, as in a manager."""

    class Reading:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            ctx.client.get(Part, "p", "default")

    world = [Part(metadata=ObjectMeta(name="p"))]
    assert isinstance(run_once(Reading(), gadget(), world=world).error, KindNotCachedError)
    declared = controller(Gadget, reads=[Part])(Reading)()
    assert run_once(declared, gadget(), world=world).error is None


def test_what_a_reconciler_sets_up_is_there() -> None:
    """OP-TST-01: it declares its indexes so."""
    found: list[list[str]] = []

    @controller(Gadget, owns=[ConfigMap])
    class Indexed:
        def setup(self, manager: Manager) -> None:
            manager.index(ConfigMap, "size", lambda text: [(text.data or {}).get("size", "")])

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            listed = ctx.client.list(ConfigMap, fields={"size": str(obj.spec.size)})
            found.append([text.metadata.name for text in listed])

    world = [config_map("same", size="1"), config_map("other", size="2")]
    assert run_once(Indexed(), gadget(), world=world).error is None
    assert found == [["same"]]


def test_the_framework_does_its_part() -> None:
    """OP-TST-02: the finalizer before the first reconcile, and the generation in the status."""

    class Cleaning:
        def reconcile(self, ctx: Context[Watcher], obj: Watcher) -> None: ...

        def cleanup(self, ctx: Context[Watcher], obj: Watcher) -> None: ...

    record = run_once(Cleaning(), Watcher(metadata=ObjectMeta(name="a")))
    assert record.obj.metadata.finalizers == ("watchers.example.com/finalizer",)
    assert record.obj.status.observed_generation == 1
    assert record.writes == ["patch watchers default/a", "patch watchers/status default/a"]


def test_an_object_that_is_being_deleted_is_cleaned_up() -> None:
    """OP-TST-02"""

    class Cleaning:
        done = False

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            raise AssertionError("never for an object that is being deleted")

        def cleanup(self, ctx: Context[Gadget], obj: Gadget) -> Result | None:
            return None if self.done else Result.requeue(5).keep_finalizer()

    reconciler = Cleaning()
    deleted = gadget(deletion_timestamp="2026-01-01T00:00:00Z")
    record = run_once(reconciler, deleted)
    assert record.obj is not None
    assert record.next_look == 5
    reconciler.done = True
    assert run_once(reconciler, deleted).obj is None


def test_a_failure_is_told_with_what_follows_from_it() -> None:
    """OP-TST-02"""

    class Failing:
        error: Exception = ValueError("no")

        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            raise self.error

    reconciler = Failing()
    record = run_once(reconciler, gadget())
    assert record.error is reconciler.error
    assert record.result is None
    assert record.next_look == 2
    reconciler.error = TerminalError("never")
    assert run_once(reconciler, gadget(), max_interval=None).next_look is None


def test_a_refusal_by_the_api_server_is_one_here() -> None:
    """OP-TST-01: schemas are checked, for what the world is made of and for what is written."""

    class Writing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            ctx.client.patch(obj, {"spec": {"size": "big"}})

    assert isinstance(run_once(Writing(), gadget()).error, InvalidError)
    with pytest.raises(StatusError):
        run_once(Writing(), gadget("Not A Name"))


def test_the_clock_is_the_tests() -> None:
    """OP-TST-03"""
    told: list[Any] = []

    class Telling:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            told.append((ctx.now().year, obj.metadata.creation_timestamp[:4]))

    run_once(Telling(), gadget(), clock=FakeClock(wall=5e8))
    assert told == [(1985, "1985")]


def test_statuses_and_namespaces_of_the_world_are_as_given() -> None:
    """OP-TST-02"""
    seen: list[Any] = []

    class Seeing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            seen.append((obj.metadata.namespace, obj.status and obj.status.ready))

    ready = Gadget(metadata=ObjectMeta(name="a"), status=GadgetStatus(ready=3))
    record = run_once(Seeing(), ready, world=[Planet(metadata=ObjectMeta(name="mars"))])
    assert seen == [("default", 3)]
    assert record.get(Planet, "mars") is not None
    assert record.get(Planet, "venus") is None


def test_dependents_are_looked_after() -> None:
    """OP-TST-02, OP-DEP-01: those that need not be there from the start too."""

    class Piece(Dependent[Part, Gadget]):
        kind = Part

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> Part:
            return Part(metadata=ObjectMeta(name="a"), spec=GadgetSpec(size=primary.spec.size))

        def active(self, ctx: Context[Gadget], primary: Gadget) -> bool:
            return True

    class Settings(Dependent[ConfigMap, Gadget]):
        kind = ConfigMap

        def desired(self, ctx: Context[Gadget], primary: Gadget) -> ConfigMap:
            return config_map()

    @controller(Gadget, dependents=[Piece, Settings])
    class Nothing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...

    first, second = replay(Nothing(), gadget())
    assert sorted(first.writes) == ["create configmaps default/a", "patch parts default/a"]
    assert second.writes == []


def test_a_reconciler_that_no_manager_takes_is_refused() -> None:
    """OP-TST-02"""
    with pytest.raises(DeclarationError):
        run_once(object(), gadget())


@dataclass(frozen=True)
class Account:
    """Something outside the cluster."""

    name: str


class Reading:
    """Labels the ConfigMap of its gadget with the accounts that it finds."""

    source: str | None = None

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
        names = [each.name for each in ctx.secondaries(Account, source=self.source)]
        ctx.client.create_or_update(config_map(names=",".join(names)))


def names_read(reconciler: object, **arguments: Any) -> str:
    """What the second run of a reconciler that is idempotent has read."""
    record, again = replay(reconciler, gadget(), **arguments)
    assert record.writes
    assert again.writes == []
    read = again.get(ConfigMap, "a")
    assert read is not None
    return str((read.data or {})["names"])


def reading(*sources: Source) -> Reading:
    @controller(Gadget, owns=[ConfigMap], sources=sources)
    class ReadingThese(Reading): ...

    return ReadingThese()


A = ObjectName("default", "a")


async def fetch_all_later() -> dict[ObjectName, list[Account]]:
    return {A: [Account("x")]}


async def fetch_later(_primary: Gadget) -> list[Account]:
    return [Account("x")]


@pytest.mark.parametrize(
    "source",
    [
        lambda: poll(lambda: {A: [Account("x")]}, period=5, kind=Account),
        lambda: poll(fetch_all_later, period=5, kind=Account),
        lambda: poll(
            lambda primary: ([Account("x")] * primary.spec.size, 3),
            period=5,
            per_resource=True,
            kind=Account,
        ),
        lambda: poll(fetch_later, period=5, per_resource=True, kind=Account),
    ],
    ids=["all", "all in a coroutine", "each", "each in a coroutine"],
)
def test_a_poll_is_asked_once_and_read(source: Callable[[], Source]) -> None:
    """OP-TST-02"""
    before = threading.active_count()
    assert names_read(reading(source())) == "x"
    assert threading.active_count() == before


def test_a_coroutine_reads_what_a_coroutine_polls() -> None:
    """OP-TST-02: a manager has polled before, too."""

    class Awaiting:
        async def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            assert [each.name for each in ctx.secondaries(Account)] == ["x"]

    source = poll(fetch_later, period=5, per_resource=True, kind=Account)
    run_once(controller(Gadget, sources=[source])(Awaiting)(), gadget()).succeeded()


def test_a_coroutine_reads_caches_as_an_ordinary_method_does() -> None:
    """OP-TST-02: caches are read without ``await``, and here a cache asks the server."""

    class Awaiting:
        async def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            assert [each.metadata.name for each in ctx.secondaries(ConfigMap)] == []
            owned = ctx.own(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
            await ctx.aclient.create(owned)
            assert ctx.client.get(ConfigMap, "a", "default").metadata.name == "a"

    run_once(controller(Gadget, owns=[ConfigMap])(Awaiting)(), gadget()).succeeded()


def test_items_that_are_given_are_read_and_nothing_is_polled() -> None:
    """OP-TST-02: of every sort of source, by its kind or by its name."""

    def fetch() -> dict[ObjectName, list[Account]]:
        raise AssertionError("polled, though its items are given")

    given = [Account("y"), Account("z")]
    polled = poll(fetch, period=5, kind=Account)
    assert names_read(reading(polled), secondaries={Account: given}) == "y,z"
    assert names_read(reading(polled), secondaries={"poll": given}) == "y,z"
    assert names_read(reading(inbound(kind=Account)), secondaries={Account: given}) == "y,z"
    assert names_read(reading(Own()), secondaries={Account: []}) == ""


def test_what_was_put_into_a_source_is_read() -> None:
    """OP-TST-02"""
    source = inbound(cached=True, kind=Account)
    source.put(A, Account("x"))
    source.put(ObjectName("default", "b"), Account("y"))
    assert names_read(reading(source)) == "x"


class Own(Source):
    """One that a project has written."""

    name = "own"
    kind = Account

    def start(self, context: SourceContext, sink: Sink) -> None:
        raise AssertionError("started in a single run")

    def stop(self) -> None: ...


def test_a_source_that_only_a_manager_can_start_says_that_it_has_to_be_given() -> None:
    """OP-TST-02: what is not known is not taken for nothing."""

    def fetch() -> dict[ObjectName, list[Account]]:
        raise OSError("no route")

    def never(_primary: Gadget) -> bool:
        return False

    excluded = poll(fetch_later, period=5, per_resource=True, when=never, kind=Account)
    for source in (Own(), inbound(kind=Account), excluded):
        error = run_once(reading(source), gadget()).error
        assert "pass them, secondaries={Account: [...]}" in str(error)
    failed = run_once(reading(poll(fetch, period=5, kind=Account)), gadget()).error
    assert "no route" in str(failed)
    assert isinstance(failed and failed.__cause__, OSError)


def test_a_poll_that_fails_does_not_disturb_a_run_that_does_not_read_it() -> None:
    """OP-TST-02"""

    def fetch() -> dict[ObjectName, list[Account]]:
        raise OSError("no route")

    @controller(Gadget, owns=[ConfigMap], sources=[poll(fetch, period=5, kind=Account)])
    class KeepingAndPolling(Keeping): ...

    run_once(KeepingAndPolling(), gadget()).succeeded()


def test_items_that_no_source_can_take_are_refused() -> None:
    """OP-TST-02"""
    two = [inbound(kind=Account, name="one"), inbound(kind=Account, name="two")]
    for wanted, sources, key in (
        ("no source with the kind or name Part", two, Part),
        ("'one', 'two'", two, Account),
        (r"pass objects in world=\[", two, ConfigMap),
        ("no source with the kind or name 'three'", two, "three"),
    ):
        with pytest.raises(DeclarationError, match=wanted):
            run_once(reading(*sources), gadget(), secondaries={key: []})
    by_name = reading(*two)
    by_name.source = "two"
    assert names_read(by_name, secondaries={"two": [Account("y")]}) == "y"


def test_a_failed_run_is_not_taken_for_one_that_writes_nothing() -> None:
    """OP-TST-02"""

    class Failing:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            raise ValueError("no")

    with pytest.raises(AssertionError, match=r"the run failed: ValueError\('no'\)") as failed:
        replay(Failing(), gadget())
    assert isinstance(failed.value.__cause__, ValueError)
    records = replay(Failing(), gadget(), allow_errors=True)
    assert [repr(record.error) for record in records] == ["ValueError('no')"] * 2
    with pytest.raises(AssertionError, match="the run failed"):
        run_once(Failing(), gadget()).succeeded()
