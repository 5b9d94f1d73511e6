"""The context of one run. Nothing here outlives the run.

Source: controller-runtime context.Context and log.FromContext; Java Operator SDK Context.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from clientgo.meta import APIResource, ObjectName, metadata_of
from clientgo.operator.client.events import ObjectEvents
from clientgo.operator.client.live_client import CachedClient
from clientgo.operator.client.ownership import set_controller_reference, set_owner_reference
from clientgo.operator.errors import CancelledError
from clientgo.operator.runs import NO_FAILURE, RetryInfo, Run
from clientgo.operator.runs.run_fields import BoundLogger
from clientgo.operator.runs.steps import CoroutineLoop
from clientgo.operator.settings.durations import Duration, seconds
from clientgo.operator.status import Condition, set_condition
from clientgo.record import SeriesRecorder
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread

if TYPE_CHECKING:
    from clientgo.operator.addons.changes import Changes
    from clientgo.operator.addons.coroutines import AsyncLiveClient

P = TypeVar("P")
S = TypeVar("S")
T = TypeVar("T")

_log = logging.getLogger("clientgo.operator.reconcile")


@dataclass(frozen=True, slots=True)
class DependentsOutcome:
    """How the dependents of one primary are doing.

    ``waiting`` has the names of those that are not ready, or wait for one that is not.
    """

    waiting: tuple[str, ...] = ()

    @property
    def all_ready(self) -> bool:
        return not self.waiting


ALL_READY: Final = DependentsOutcome()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """What every run of one controller can reach; all of it is thread-safe.

    ``secondaries(kind, key, primary, source)`` reads the caches of the sources; ``event_loop()`` is
    that of the manager.
    """

    controller: str
    primary: APIResource
    client: CachedClient
    recorder: SeriesRecorder
    clock: Clock
    values: Mapping[str, Any]
    secondaries: Callable[[Any, ObjectName, Any, str | None], list[Any]]
    event_loop: Callable[[], CoroutineLoop]


@uncopyable("it belongs to one run; pass on what you read from it")
class Context(Generic[P]):
    """One run, for the thread of the run; :meth:`run_in_thread` takes its log fields along.

    ``retry`` describes the failures before this run. At ``deadline``, by the clock, the run has to
    be over. ``cancelled`` is set when it should end. ``deleted`` is True only for controllers with
    ``on_deleted``.
    """

    __slots__ = (
        "_client",
        "_id",
        "_run",
        "_scope",
        "cancelled",
        "compared",
        "deadline",
        "deleted",
        "dependents",
        "failure_is_shared",
        "key",
        "obj",
        "retry",
    )

    def __init__(
        self,
        scope: RunScope,
        run: Run,
        *,
        cancelled: threading.Event,
        deadline: float | None = None,
    ) -> None:
        self._scope = scope
        self._run = run
        self._id = ""
        self._client: CachedClient | None = None
        self.key: ObjectName = run.key
        self.obj: P = cast("P", None)
        """The primary as it was read, the default object of Events; None where a
        reconciler is given keys."""
        self.retry: RetryInfo = NO_FAILURE
        self.cancelled = cancelled
        self.deadline = deadline
        self.deleted = False
        self.failure_is_shared: bool | None = None
        """For reporters: True if another object's run failed alike, and is reported; None if this
        run has not failed."""
        self.compared: Changes | None = None
        """What :attr:`changes` returns; None if the controller compares nothing."""
        self.dependents: DependentsOutcome = ALL_READY
        """The state of the declared dependents, which were written before ``reconcile``."""

    # What it is

    @property
    def reconcile_id(self) -> str:
        """A name for this run, in every line that it logs."""
        if not self._id:
            self._id = str(uuid.uuid4())
        return self._id

    @property
    def primary(self) -> APIResource:
        """The kind of the primary."""
        return self._scope.primary

    @property
    def rerun_pending(self) -> bool:
        """True if something happened during this run, so that another run follows immediately."""
        return self._run.rerun_pending

    @property
    def changes(self) -> Changes:
        """What differs from the last run for this object that succeeded.

        Raises ``LookupError`` if the controller does not say what it compares.
        """
        if self.compared is None:
            raise LookupError(
                f"{self._scope.controller} compares nothing; declare the fields with "
                "@controller(..., changes=['spec.version'])"
            )
        return self.compared

    @property
    def values(self) -> Mapping[str, Any]:
        """What the program gave its manager for all reconcilers."""
        return self._scope.values

    # What it can reach

    @property
    def client(self) -> CachedClient:
        """Reads from the caches and writes to the API server; ``client.live`` reads there too.

        A request that is under way when the run is cancelled raises ``CancelledError``.
        """
        if self._client is None:
            self._client = self._scope.client.until(self.cancelled)
        return self._client

    @property
    def aclient(self) -> AsyncLiveClient:
        """The same client for coroutines: ``await ctx.aclient.create(obj)``."""
        client: AsyncLiveClient = self._scope.event_loop().client(self.client, self.cancelled)
        return client

    @property
    def log(self) -> BoundLogger:
        """A logger whose records name the object."""
        return BoundLogger(_log)

    @property
    def events(self) -> ObjectEvents:
        """Records Events, by default about the primary. Never blocks or raises."""
        return ObjectEvents(self._scope.recorder, self.obj)

    def secondary(
        self, kind: type[S], *, name: str | None = None, source: str | None = None
    ) -> S | None:
        """Return the one secondary of a kind, from its source's cache; None if there is none.

        ``name`` picks one of several. Raises ``LookupError`` if several are left, or if several
        sources have the kind and ``source`` does not say which.
        """
        found = self.secondaries(kind, source=source)
        if name is not None:
            found = [obj for obj in found if obj.metadata.name == name]  # type: ignore[attr-defined]
        if len(found) > 1:
            names = ", ".join(str(ObjectName.of(obj)) for obj in found)
            raise LookupError(
                f"{self.key} has {len(found)} secondaries of {kind.__name__} ({names}); "
                "pass a name, or use ctx.secondaries"
            )
        return found[0] if found else None

    def secondaries(self, kind: type[S], *, source: str | None = None) -> list[S]:
        """The secondaries of a kind, from its source's cache, in the order of their names."""
        found: list[S] = self._scope.secondaries(kind, self.key, self.obj, source)
        return found

    def own(self, obj: S, *, controller: bool = True, block: bool = True) -> S:
        """Make the primary the owner of an object that is about to be written; returns it.

        Raises ``OwnershipError``, ``AlreadyOwnedError``.
        """
        if controller:
            return set_controller_reference(self.obj, obj, block=block)
        return set_owner_reference(self.obj, obj)

    def set_condition(
        self,
        conditions: list[Condition],
        type: str,  # noqa: A002 - its name in the API
        status: bool | None,
        reason: str,
        message: str = "",
    ) -> bool:
        """Set a condition, with the clock of the run and the generation of its primary.

        Returns True if anything changed. Raises ``ValueError`` and ``TypeError``; see
        :func:`~clientgo.operator.status.set_condition`.
        """
        return set_condition(
            conditions,
            type,
            status,
            reason,
            message,
            generation=None if self.obj is None else metadata_of(self.obj).generation or None,
            clock=self.clock,
        )

    # Time

    @property
    def clock(self) -> Clock:
        """The manager's clock."""
        return self._scope.clock

    def now(self) -> datetime:
        """Return the time, by the manager's clock, in UTC."""
        return datetime.fromtimestamp(self.clock.time(), UTC)

    def wait(self, delay: Duration) -> bool:
        """Sleep; False if the run was cancelled meanwhile. A result that asks to look again is
        usually better: it does not occupy a worker. A coroutine awaits ``asyncio.sleep``."""
        return not self.clock.sleep(seconds(delay, "ctx.wait"), self.cancelled)

    def time_is_up(self) -> bool:
        """Return True if the run has lasted longer than its controller allows."""
        return self.deadline is not None and self.clock.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise ``CancelledError`` if the run should end."""
        if self.cancelled.is_set():
            raise CancelledError(f"the run of {self.key} was cancelled")

    def for_tasks(self) -> Callable[[Run, threading.Event], Context[P]]:
        """Return what makes contexts for the tasks of the object, which go on after this run."""
        scope = self._scope
        return lambda run, cancelled: Context(scope, run, cancelled=cancelled)

    def run_in_thread(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Run something beside this run, with the same fields in its log records."""
        future: Future[T] = Future()
        copied = contextvars.copy_context()

        def work() -> None:
            try:
                future.set_result(copied.run(function, *args))
            except BaseException as error:  # noqa: BLE001 - the future raises it
                future.set_exception(error)

        name = f"{self._scope.controller}-helper"
        SupervisedThread.started(work, name=name, then="its future has no outcome")
        return future
