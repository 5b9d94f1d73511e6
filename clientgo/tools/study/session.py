"""A live study: server, simulated cluster and controller in this process, traced and paced.

Promises: when the block ends, every held thread goes on, the controller ends, and no thread is
left. What happens is in ``recording``, in the order of what happened.

Only the controller is traced: everything else is made before the trace begins, and what this
package watches itself is left out by name.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Final, Self

from clientgo.cache import SharedIndexInformer
from clientgo.client import Client
from clientgo.meta import DecodeError, StatusError, Unstructured
from clientgo.observe.trace import Hop, Trace, Tracer, tracing
from clientgo.rest import RestConfig, TransportError
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import FailRequests
from clientgo.testcluster.workloads import simulate
from clientgo.tools.study.actions import AGENT, NotPossibleError, Plan, objects_of
from clientgo.tools.study.history import OWN, ObjectHistory
from clientgo.tools.study.pacing import Held, Pacing
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.sources import calling_source, library_sources, own_sources
from clientgo.tools.study.target import Target, create_definitions
from clientgo.util.copies import CopyableError

SLOW: Final = 0.7
"""Seconds at each boundary in slow motion."""

_NODES: Final = 1

_KEPT: Final = frozenset({"study.target", "study.source"})

_log = logging.getLogger("clientgo.tools.study")


class ActionError(CopyableError):
    """An action was not possible; the message says why."""


class _StudyTracer(Tracer):
    """Writes hops into the recording, and holds threads where the pacing says so."""

    def __init__(
        self,
        recording: Recording,
        pacing: Pacing,
        history: ObjectHistory,
        on_boundary: Callable[[str], object],
    ) -> None:
        self._recording = recording
        self._on_boundary = on_boundary
        self._pacing = pacing
        self._history = history

    def hop(self, hop: Hop) -> None:
        if not hop.hop.startswith("study.") and (
            _is_own(hop.of, hop.thread) or (hop.hop.startswith("request.") and not hop.of)
        ):
            return  # of this package, or a request of no component
        if hop.hop == "request.sent":
            self._history.requested(hop.details["path"])
        self._recording.add(hop.to_json().encode(), keep=hop.hop in _KEPT)

    def before(self, boundary: str, of: str, key: str) -> None:
        if not _is_own(of, threading.current_thread().name):
            self._on_boundary(boundary)
            self._pacing.before(boundary, of, key)

    def ended(self) -> None:
        self._pacing.close()


Beside = Callable[[EmbeddedAPIServer], AbstractContextManager[object]]


def _workloads(server: EmbeddedAPIServer) -> AbstractContextManager[object]:
    return simulate(server, nodes=_NODES)


def _shown(obj: Unstructured) -> dict[str, Any]:
    """Return an object without the list of who manages which field, which is longer than it."""
    shown = obj.to_dict()
    shown["metadata"].pop("managedFields", None)
    return shown


def _is_own(of: str, thread: str) -> bool:
    """Return True for what this package does itself."""
    return of.startswith(OWN) or thread.startswith(OWN)


class Session:
    """Runs a target. A context manager; its methods may be called from any thread.

    ``beside`` runs what else a cluster has.
    """

    def __init__(
        self, target: Target, recording: Recording, *, beside: Beside = _workloads
    ) -> None:
        self.target: Final = target
        self.recording: Final = recording
        self.pacing: Final = Pacing(self._held)
        self.server: Final = EmbeddedAPIServer()
        self._beside = beside
        self._stack = ExitStack()
        self._trace: Trace | None = None
        self._acting = threading.Lock()
        self._faults: dict[str, tuple[FailRequests, int] | None] = {}
        """The active faults; each ends when it has had this number of effects."""
        self._faults_lock = threading.Lock()
        self._knows_sync = "sync" in target.code
        self._viewers = 0
        self._was_seen = False
        self._counting = threading.Lock()

    def __enter__(self) -> Self:
        with self._stack:
            enter = self._stack.enter_context
            enter(self.server)
            self.client = enter(Client(RestConfig(server=self.server.url, user_agent=OWN)))
            create_definitions(self.client, self.target.definitions)
            enter(self._beside(self.server))
            history = ObjectHistory(self.client, self._version)
            self._stack.callback(history.stop)
            tracer = _StudyTracer(self.recording, self.pacing, history, self._reached)
            self._trace = enter(tracing(tracer))
            history.start()
            self.server.observe(lambda _: self._note_strikes())
            self._note("study.target", informers=self.target.informers)
            for source in [*library_sources(), *own_sources(self.target.code)]:
                self._note("study.source", source.pop("of"), **source)
            self._stack.callback(self.pacing.close)
            enter(self.target.run(RestConfig(server=self.server.url, user_agent=AGENT)))
            self._stack.callback(self.pacing.close)  # before the controller is asked to end
            for manifest in self.target.objects:
                objects_of(self.client, manifest).create(manifest)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()
        self.recording.close()

    # What the page asks for

    def pace(self, mode: str, message: str = "") -> None:
        """Pause, run, or run in slow motion; ``message`` says why, if no user has chosen it.

        Raises ``ValueError`` for another mode.
        """
        modes: dict[str, Callable[[], None]] = {
            "paused": self.pacing.pause,
            "running": self.pacing.resume,
            "slow": lambda: self.pacing.slow(SLOW),
        }
        if mode not in modes:
            raise ValueError(f"no mode is called {mode!r}; use {', '.join(modes)}")
        modes[mode]()
        self._note("study.pace", mode=self.pacing.mode, message=message)

    def step(self, number: int | None) -> Held | None:
        """Let one held thread pass its boundary; return it."""
        return self.pacing.step(number)

    def act(self, name: str, key: str) -> Plan:
        """Do what a button says; one action at a time. Return what was planned.

        Raises:
            KeyError: no action has this name.
            ActionError: it was not possible.
        """
        action = {action.name: action for action in self.target.actions}[name]
        with self._acting:
            try:
                plan = action.plan(self, key)
                self._begin(name, plan)
                plan.do()
            except (DecodeError, NotPossibleError, StatusError, TransportError) as error:
                raise ActionError(str(error)) from error
        return plan

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Return the informers of the controller."""
        made = [] if self._trace is None else self._trace.components()
        informers = [one for one in made if isinstance(one, SharedIndexInformer)]
        return [one for one in informers if not one.name.startswith(OWN)]

    def joined(self, *, slow: bool = True) -> None:
        """Count a page that is open. With ``slow``, the first one finds slow motion."""
        with self._counting:
            self._viewers += 1
            is_first, self._was_seen = not self._was_seen, True
        if slow and is_first and self.pacing.mode == "running":
            self.pace("slow", "the page begins in slow motion")

    def left(self) -> None:
        """Count a page that was closed; when the last one is, every thread goes on."""
        with self._counting:
            self._viewers -= 1
            is_last = self._viewers == 0
        if is_last and self.pacing.mode != "running":
            _log.info("the last page was closed: nothing is held any more")
            self.pace("running", "the last page was closed: nothing is held any more")

    # Notes

    def _reached(self, boundary: str) -> None:
        """Note the code of the controller that leads to a sync, if it is not known."""
        if boundary == "sync" and not self._knows_sync:
            self._knows_sync = True
            source = calling_source(boundary)
            if source is not None:
                self._note("study.source", source.pop("of"), **source)

    def _held(self, held: Held, begins: bool) -> None:
        hop = "study.held" if begins else "study.released"
        self._note(hop, held.of, held.key, boundary=held.boundary, number=held.number)

    def _begin(self, name: str, plan: Plan) -> None:
        """Note an action before it has an effect."""
        until = None
        if plan.strikes is not None:
            self.server.lift(plan.strikes)  # of an earlier action that has not struck yet
            until = plan.strikes, self.server.struck(plan.strikes) + (plan.strikes.times or 1)
        with self._faults_lock:
            lifted = [*self._faults] if plan.heals else []
            if plan.heals:
                self._faults.clear()
            if plan.fault:
                self._faults[plan.fault] = until
        self._note(
            "study.action",
            key=plan.key,
            action=name,
            message=plan.message,
            edits=plan.edits,
            fault=plan.fault,
            shown=plan.shown,
            lifted=lifted,
        )

    def _note_strikes(self) -> None:
        """Note which faults have ended because they have struck."""
        with self._faults_lock:
            ended = [
                name
                for name, until in self._faults.items()
                if until is not None and self.server.struck(until[0]) >= until[1]
            ]
            for name in ended:
                del self._faults[name]
        if ended:
            self._note("study.healed", lifted=ended)

    def _version(self, plural: str, kind: str, obj: Unstructured) -> None:
        metadata = obj.metadata
        key = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        version = metadata.resource_version
        self._note("study.object", "", key, version, type=kind, resource=plural, object=_shown(obj))

    def _note(self, hop: str, of: str = "", key: str = "", version: str = "", **rest: Any) -> None:
        if self._trace is not None:
            self._trace.note(hop, of, key or None, version or None, **rest)
