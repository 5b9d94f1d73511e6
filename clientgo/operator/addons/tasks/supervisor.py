"""The tasks of one controller: started by its runs, ended by its clean-up and by the stop.

Promises that a task begins after the finalizer is on its object, and that the finalizer is removed
after the task has ended, or was waited for as long as it was declared; that tasks run only where
runs do, in the leader or the owner of the object's shard; and that neither leadership nor a shard
is given up while one runs.

Built on what every reconciler has: its methods, a source, a runnable.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from clientgo.meta import ObjectName
from clientgo.operator.addons.tasks.object_task import ObjectTask
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet
from clientgo.operator.context import Context
from clientgo.operator.controller.declaration import ControllerConfig
from clientgo.operator.controller.parts import Services
from clientgo.operator.errors import DeclarationError
from clientgo.operator.reconciler import TASK_ATTRIBUTE, Shape
from clientgo.operator.result import Result
from clientgo.operator.sources.primaries import PrimaryWatch
from clientgo.operator.sources.source import Sink, Source, SourceContext
from clientgo.util.process import deadline_after, time_left

NAME: Final = "tasks"

_REPORT_AFTER: Final = 10.0
"""Seconds after a stop until tasks that have not ended are named; the stop goes on waiting."""


def with_tasks(shape: Shape, config: ControllerConfig, *, shared: bool = False) -> Shape:
    """Return a reconciler whose runs start its tasks. Raises ``DeclarationError``.

    ``shared`` says that all processes work, so the tasks need no leader.
    """
    inner = shape.reconcile
    if inner is None or config.on_deleted:
        raise DeclarationError(
            f"controller {config.name}: tasks live as long as an object; write "
            "reconcile(self, ctx, obj), without on_deleted"
        )
    for method in shape.tasks:
        try:
            inspect.signature(method).bind(None, None)
        except TypeError as error:
            raise DeclarationError(
                f"controller {config.name}: task {method.__name__} is called with ctx and the "
                f"object: {error}"
            ) from None
    tasks = ObjectTasks(config.name, shape.tasks)

    def sources(services: Services) -> list[Source]:
        own = [] if shape.sources is None else list(shape.sources(services))
        tasks.prepare(services)
        return [*own, tasks]

    def reconcile(ctx: Context[Any], obj: Any) -> Any:
        tasks.keep(ctx, obj)
        return inner(ctx, obj)

    def cleanup(ctx: Context[Any], obj: Any) -> Any:
        left = tasks.end(ctx.key)
        if left > 0:
            return Result.requeue(left).keep_finalizer()
        return None if shape.cleanup is None else shape.cleanup(ctx, obj)

    def setup(manager: Any) -> None:
        name = f"{config.name}-tasks"
        needs_leadership = config.needs_leadership and not shared
        manager.add_runnable(tasks.run, needs_leadership=needs_leadership, name=name)
        if shape.setup is not None:
            shape.setup(manager)

    return replace(shape, sources=sources, reconcile=reconcile, cleanup=cleanup, setup=setup)


class ObjectTasks(Source):
    """All tasks of one controller; as a source it sees which objects are gone. Thread-safe."""

    name = NAME

    def __init__(self, controller: str, methods: tuple[Callable[..., Any], ...]) -> None:
        self._controller = controller
        self._methods = methods
        self._tasks: list[ObjectTask] = []
        self._started: tuple[Sink, PrimaryWatch] | None = None

    def prepare(self, services: Services) -> None:
        """Make the queues; before anything else."""
        self._tasks = [
            ObjectTask(
                f"{self._controller}-{method.__name__.replace('_', '-')}",
                method,
                getattr(method, TASK_ATTRIBUTE),
                services,
                self._read,
                self._ended,
            )
            for method in self._methods
        ]
        if any(map(inspect.iscoroutinefunction, self._methods)):
            services.event_loop()

    def keep(self, ctx: Context[Any], obj: Any) -> None:
        """Let the tasks of an object run."""
        for task in self._tasks:
            task.keep(ctx, obj)

    def end(self, key: ObjectName) -> float:
        """End the tasks of an object; return how many seconds to wait for that, 0 if all have."""
        return max(task.stop(key) for task in self._tasks)

    # As a runnable

    def run(self, stop: threading.Event) -> None:
        """Run tasks until ``stop`` is set; block until all have ended."""
        for task in self._tasks:
            task.start()
        stop.wait()
        for task in self._tasks:
            task.begin_stop()
        deadline = deadline_after(_REPORT_AFTER)
        late = [task for task in self._tasks if not task.wait_stopped(time_left(deadline))]
        for task in late:
            task.wait_stopped(None)

    # As a source

    def start(self, context: SourceContext, sink: Sink) -> None:
        self._started = sink, PrimaryWatch(context, self._disappeared)

    def stop(self) -> None:
        started, self._started = self._started, None
        if started is not None:
            started[1].stop()

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        if self._started is not None:
            self._started[1].change_namespaces(namespaces)
        if namespaces != EVERYWHERE:
            self.release(lambda key: key.namespace not in namespaces)

    def release(self, condition: Callable[[ObjectName], bool]) -> None:
        for task in self._tasks:
            task.forget_if(condition)

    def _disappeared(self, key: ObjectName) -> None:
        for task in self._tasks:
            task.stop(key)

    def _read(self, key: ObjectName) -> Any | None:
        started = self._started
        return None if started is None else started[1].get(key)

    def _ended(self, key: ObjectName) -> None:
        started = self._started
        if started is not None:
            started[0].enqueue(key)
