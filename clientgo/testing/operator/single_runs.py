"""One run of a reconciler, in this thread: no manager, no worker, no socket, no waiting. Coroutines
run on an event loop of their own.

Promises that the run is the framework's own, from the finalizer to the write of the status, and
that the world is the embedded API server's, so that what passes here is not refused elsewhere.
Passes that follow immediately, for example after the finalizer was added, belong to the same run.

Does not promise stale caches or events: a manager on a :class:`FakeCluster` has those.
"""

from __future__ import annotations

import queue
import socket
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CoroutineType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectName, deep_copy, metadata_of, resource_of
from clientgo.observe.metrics import NO_METRICS
from clientgo.operator.addons.changes import keeper_of
from clientgo.operator.addons.dependents import with_dependents
from clientgo.operator.cache import EVERYWHERE, api_resource
from clientgo.operator.client import CachedClient
from clientgo.operator.controller import Controller, Cycle, Declaration, Services, declaration_of
from clientgo.operator.controller.assembly import controller_of
from clientgo.operator.errors import DeclarationError
from clientgo.operator.manager import Manager
from clientgo.operator.reconciler import Shape, shape_of
from clientgo.operator.result import Result
from clientgo.operator.runs import ObjectState, Run, Timer
from clientgo.operator.sources import KindSource
from clientgo.record import SeriesRecorder
from clientgo.rest import RestConfig
from clientgo.testing.fake_clock import FakeClock
from clientgo.testing.operator.run_record import RunRecord
from clientgo.testing.operator.still_cache import StillCache
from clientgo.testing.operator.still_server import StillServer
from clientgo.testing.operator.still_source import still_sources
from clientgo.testing.recording_transport import RecordingTransport

if TYPE_CHECKING:
    from clientgo.operator.addons.coroutines import OperatorLoop

Secondaries: TypeAlias = Mapping[Any, Sequence[Any]]
"""Items by the kind or the name of their source."""

_NOTHING: Final[Secondaries] = MappingProxyType({})

MOST_PASSES: Final = 10
"""Passes that may follow each other immediately; more are a loop."""


def run_once(
    reconciler: object,
    obj: Any,
    *,
    world: Sequence[Any] = (),
    secondaries: Secondaries = _NOTHING,
    clock: FakeClock | None = None,
    **options: Any,
) -> RunRecord:
    """Create ``world`` and ``obj``, run the reconciler for ``obj``, tell what happened.

    ``secondaries`` are the items of the sources that are no kinds of objects, by the kind or the
    name of the source: ``{Account: [Account("a")]}``. A poll that is not among them is made once,
    before the run. What another source knows that a test does not start, it has to be given.
    ``options`` are settings of the controller, as in ``@controller``. An ``obj`` with a deletion
    time is being deleted, held by its finalizers or by the controller's. Raises
    :class:`~clientgo.operator.errors.DeclarationError` for a reconciler that no manager would take,
    and :class:`~clientgo.meta.StatusError` for objects that the API server refuses.
    """
    return next(_runs(reconciler, obj, world, secondaries, clock or FakeClock(), options))


def replay(
    reconciler: object,
    obj: Any,
    *,
    times: int = 2,
    world: Sequence[Any] = (),
    secondaries: Secondaries = _NOTHING,
    clock: FakeClock | None = None,
    allow_errors: bool = False,
    **options: Any,
) -> list[RunRecord]:
    """Like :func:`run_once`, several times in the same world: an idempotent reconciler writes
    nothing after the first, ``assert replay(...)[1].writes == []``.

    Raises ``AssertionError`` if a run fails, because the writes of such a run show nothing;
    ``allow_errors`` returns its record instead.
    """
    runs = _runs(reconciler, obj, world, secondaries, clock or FakeClock(), options)
    records = (next(runs) for _ in range(times))
    return [record if allow_errors else record.succeeded() for record in records]


def _runs(
    reconciler: object,
    obj: Any,
    world: Sequence[Any],
    secondaries: Secondaries,
    clock: FakeClock,
    options: dict[str, Any],
) -> Iterator[RunRecord]:
    declaration = _declaration(reconciler, obj, options)
    server = StillServer(clock.time)
    config = RestConfig(server="http://still")
    client = Client(config, transport=server)
    weakref.finalize(client, server.close)
    _define(server, client, declaration, (*world, obj))
    transport = RecordingTransport(server)
    recorded = Client(config, transport=transport)
    bench = _Bench(declaration, reconciler, client, recorded, clock, secondaries)
    for each in world:
        _create(client, each)
    key = bench.create_primary(obj)
    while True:
        transport.clear()
        yield bench.run(key, transport)


class _Bench:
    """A controller without a manager, and what it says and answers."""

    def __init__(
        self,
        declaration: Declaration,
        reconciler: object,
        client: Client,
        recorded: Client,
        clock: FakeClock,
        secondaries: Secondaries,
    ) -> None:
        name = api_resource(declaration.primary).kind.lower()
        settings = {"name": name, **declaration.options}
        config = replace(declaration, options=settings).config().checked()
        self._client = client
        self._clock = clock
        self._events: list[Event] = []
        self._results: list[Any] = []
        cache = StillCache(client)
        services = Services(
            client=CachedClient(recorded, cache),
            cache=cache,
            namespaces=EVERYWHERE,
            clock=clock,
            metrics=NO_METRICS,
            recorder=self._recorder,
            crashed=_raise,
            event_loop=self._event_loop,
        )
        self._loop: OperatorLoop | None = None
        shape = shape_of(reconciler, config.name)
        shape = self._noting(with_dependents(shape, declaration, config.name, clock))
        self._controller: Controller[Any] = controller_of(
            services, declaration, shape, config, keeper_of(declaration, shape, config.name)
        )
        if shape.setup is not None:
            manager = Manager(client, metrics="0", close_client_on_stop=False)
            manager.cache = cache
            shape.setup(manager)
        cache.start()
        self._still = still_sources(self._controller.sources(), secondaries)
        for source in self._still:
            self._controller.remove_source(source.name)
            self._controller.add_source(source)

    def create_primary(self, obj: Any) -> ObjectName:
        """Create the object of the run; delete it if it has a deletion timestamp."""
        deleting = bool(metadata_of(obj).deletion_timestamp)
        held = deep_copy(obj)
        metadata = metadata_of(held)
        if deleting and not metadata.finalizers and self._controller.finalizer:
            metadata.finalizers = (self._controller.finalizer,)
        created = _create(self._client, held)
        if deleting:
            _of(self._client, created).delete(metadata_of(created).name)
        return ObjectName.of(created)

    def run(self, key: ObjectName, transport: RecordingTransport) -> RunRecord:
        controller = self._controller
        state = ObjectState(controller.queue.settings)
        self._events.clear()
        self._results.clear()
        controller.start_sources()
        try:
            primary = controller.read_primary(key)
            for source in self._still:
                source.ask(key, primary)
            self._pass(key, state)
        finally:
            controller.stop_sources()
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.stop()
        returned = self._results[-1] if self._results else None
        return RunRecord(
            result=returned if state.last_error is None else None,
            error=state.last_error,
            next_look=_seconds_until(state.timer, self._clock),
            actions=transport.actions(),
            events=list(self._events),
            obj=controller.read_primary(key),
            client=self._client,
        )

    def _pass(self, key: ObjectName, state: ObjectState) -> None:
        """Run pass by pass, as a queue would, until none follows immediately."""
        cycle, shape = Cycle(self._controller.parts), self._controller.parts.shape
        failures: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        for _ in range(MOST_PASSES):
            state.begin(self._clock.monotonic())
            cycle(Run(key, state, self._clock, over=lambda _, failure: failures.put(failure)))
            failure = failures.get() if shape.is_async else None
            if failure is not None:
                raise failure
            state.ended()
            if not state.pending:
                return
        raise AssertionError(f"{key}: still another pass after {MOST_PASSES}")

    def _event_loop(self) -> OperatorLoop:
        from clientgo.operator.addons.coroutines import OperatorLoop

        if self._loop is None:
            self._loop = OperatorLoop("run-once", threads=1)
        return self._loop

    def _recorder(self, controller: str) -> SeriesRecorder:
        host = socket.gethostname()
        return SeriesRecorder(self._events.append, controller, host, clock=self._clock)

    def _noting(self, shape: Shape) -> Shape:
        """The same methods, whose answers are noted."""
        return replace(
            shape,
            reconcile=self._noted(shape.reconcile),
            reconcile_key=self._noted(shape.reconcile_key),
            cleanup=self._noted(shape.cleanup),
            after_cleanup=self._noted(shape.after_cleanup),
        )

    def _noted(self, method: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if method is None:
            return None

        def note(answer: Any) -> Any:
            self._results.append(Result.done() if answer is None else answer)
            return answer

        async def awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
            return note(await coroutine)

        def call(*args: Any) -> Any:
            returned = method(*args)
            return awaited(returned) if isinstance(returned, CoroutineType) else note(returned)

        return call


def _declaration(reconciler: object, obj: Any, options: dict[str, Any]) -> Declaration:
    try:
        declaration = declaration_of(reconciler)
    except DeclarationError:
        declaration = Declaration(type(obj))
    return replace(declaration, options={**declaration.options, **options})


def _define(
    server: StillServer, client: Client, declaration: Declaration, objects: Sequence[Any]
) -> None:
    """Make the server know the kinds that it has not built in."""
    kinds: list[Any] = [type(obj) for obj in objects]
    kinds += [source.kind for source in declaration.sources if isinstance(source, KindSource)]
    kinds += [*declaration.reads, *(dependent.kind for dependent in declaration.dependents)]
    classes = dict.fromkeys(kind for kind in kinds if isinstance(kind, type))
    custom = [kind for kind in classes if not server.serves(resource_of(kind))]
    for definition in definitions_of(custom):
        client.resource(CustomResourceDefinition).create(definition)


def _create(client: Client, obj: Any) -> Any:
    """Create an object, its status too, in the namespace ``default`` unless it says another."""
    obj = deep_copy(obj)
    metadata = metadata_of(obj)
    metadata.deletion_timestamp = None
    if resource_of(type(obj)).namespaced and not metadata.namespace:
        metadata.namespace = "default"
    objects = _of(client, obj)
    created = objects.create(obj)
    status = obj.to_dict().get("status")
    if status and "status" in objects.resource.subresources:
        created = objects.patch(metadata_of(created).name, {"status": status}, subresource="status")
    return created


def _of(client: Client, obj: Any) -> Any:
    objects: Any = client.resource(type(obj))
    namespace = metadata_of(obj).namespace
    return objects.namespace(namespace) if namespace else objects


def _seconds_until(timer: Timer | None, clock: FakeClock) -> float | None:
    return None if timer is None else timer.due - clock.monotonic()


def _raise(error: BaseException) -> None:
    raise error
