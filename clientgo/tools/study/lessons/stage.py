"""What the script of a lesson works with: objects to change, faults, and hops to wait for.

Promises: no step waits for time. Each waits until what it causes was recorded, and while the
controller is held, it does only what the script lets it do. So a run is the same each time, except
for its times, its resource versions, and the order of hops of different threads.

Blocks; used by one thread.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from clientgo.api.apps_v1 import Deployment
from clientgo.client import ResourceClient
from clientgo.observe.trace import active_trace
from clientgo.testcluster.server.faults import CloseWatches, Fault
from clientgo.tools.study.actions.changes import (
    FOO,
    NAMESPACE,
    deployments_of,
    foos_of,
    patch_replicas,
)
from clientgo.tools.study.lessons.faults import LessonFault, network_down, watches_of
from clientgo.tools.study.lessons.late_controller import LateController
from clientgo.tools.study.lessons.marks import MARK, LessonError, Line, matches
from clientgo.tools.study.lessons.settling import Settling
from clientgo.tools.study.session import Session

T = TypeVar("T")

TIMEOUT: Final = 30.0
"""Seconds that a step waits for what it causes."""


def key(name: str) -> str:
    """Return the key of an object of the lessons."""
    return f"{NAMESPACE}/{name}"


def child_of(foo: str) -> str:
    """Return the name of the Deployment of a Foo; it differs, as the two keys do."""
    return foo.replace("foo", "web")


class Stage:
    """A script's view of a session. ``number`` is that of the run, in this session.

    ``answered`` returns when the reader has answered.
    """

    def __init__(
        self,
        session: Session,
        controller: LateController,
        answered: Callable[[], object] = lambda: None,
        number: int = 1,
    ) -> None:
        self._session = session
        self._controller = controller
        self._answered = answered
        self._number = number
        self._ended = threading.Event()
        self._recording = session.recording
        self._position = self._recording.read(0, 0).end
        self._seen: list[Line] = []
        self._since = 0
        """Where the lines begin that steps look at: at the last sentence, or sync."""
        self._marks = 0
        self._held: dict[int, Line] = {}
        self._state = Settling()

    # The run

    def clear(self) -> None:
        """Begin with no controller, no fault and no object."""
        self._controller.stop()
        self._session.server.lift()
        for objects in (self._foos(), self._deployments()):
            objects.delete_collection()
        self._mark("run", run=self._number)

    def prepare(self, first: str, *others: str) -> None:
        """Begin with these Foos, their Deployments, and a controller that has nothing to do.

        The first one comes with the list, the others by the watch. All threads are held.
        """
        self._create_synced(first)
        self.hold()
        self.start_controller()
        self.let_until("watch.event", "watch.read", through="Deployment", type="BOOKMARK")
        self.let("fifo.take", "Deployment")  # of an empty list
        self.let_enqueue("Foo", key=key(first))
        self._sync_with_child(first)
        for name in others:
            self._create_synced(name)
            self.let_enqueue("Foo", key=key(name), count=2)
            self._sync_with_child(name)
        self.settle()

    def _create_synced(self, foo: str) -> None:
        """Create a Foo with the status that its sync would write, so that there is no conflict."""
        self.create_foo(foo)
        self._foos().patch(foo, {"status": {"availableReplicas": 0}}, subresource="status")

    def _sync_with_child(self, foo: str) -> None:
        """Let a sync create a Deployment, and another one follow its event."""
        self.sync_next()
        self.let_enqueue("Deployment", key=key(foo))
        self.sync_next()

    def begin(self) -> None:
        """End the preparation."""
        self._mark("begin")

    def say(self, text: str, *, fast: bool = False) -> None:
        """Tell the reader what comes next."""
        self._mark("say", text=text, fast=fast)

    def ask(self, pill: str) -> None:
        """Ask the question of the lesson; ``pill`` is what the page points at."""
        self._mark("ask", pill=pill)
        self._answered()

    def shown(self) -> list[Line]:
        """Return what was recorded since the beginning."""
        first = next(n for n, line in enumerate(self._seen) if line.get("what") == "begin")
        return self._seen[first:]

    def end(self, counts: Sequence[tuple[str, int]]) -> None:
        """End the lesson with what was counted, and let the controller go."""
        self._mark("end", counts=counts)
        self.release()

    def abort(self) -> None:
        """Let the step that waits, and each later one, raise LessonError. From any thread."""
        self._ended.set()
        self._note(MARK, what="abort")

    def start_controller(self) -> None:
        self._controller.start()

    # Changes of another user

    def create_foo(self, name: str, replicas: int = 1) -> None:
        spec = {"deploymentName": child_of(name), "replicas": replicas}
        manifest = {**FOO, "metadata": {"name": name}, "spec": spec}
        self._change(f"a user creates {name}", "foos", lambda: self._foos().create(manifest))

    def scale_foo(self, name: str, replicas: int) -> str:
        """Return the new resource version."""
        return self._change(
            f"a user scales {name} to {replicas}",
            "foos",
            lambda: patch_replicas(self._foos(), name, replicas),
        )

    def scale_deployment(self, name: str, replicas: int) -> str:
        """Return the new resource version."""
        return self._change(
            f"another user scales the Deployment {name} to {replicas}",
            "deployments",
            lambda: patch_replicas(self._deployments(), name, replicas),
        )

    def delete_deployment(self, name: str) -> None:
        self._delete(f"another user deletes the Deployment {name}", self._deployments(), name)

    def delete_foo(self, name: str) -> None:
        self._delete(f"a user deletes {name}", self._foos(), name)

    def _foos(self) -> ResourceClient[Any]:
        return foos_of(self._session.client)

    def _deployments(self) -> ResourceClient[Deployment]:
        return deployments_of(self._session.client)

    def _change(self, message: str, resource: str, change: Callable[[], Any]) -> str:
        self._note("study.action", action="change", message=message)
        version = str(change().metadata.resource_version)
        if self._state.cached:  # the page knows the versions of what the controller watches
            self.wait("study.object", resource=resource, version=version)
        return version

    def _delete(self, message: str, objects: ResourceClient[Any], name: str) -> None:
        self._note("study.action", action="change", message=message)
        objects.delete(name)
        self.wait("study.object", key=key(name), type="DELETED")

    # Faults

    def inject(self, fault: LessonFault) -> None:
        """Let the server misbehave until the fault is lifted."""
        self._inject(fault.fault, fault.begins, fault.shown)

    def inject_once(self, fault: Fault, message: str) -> None:
        """Let the server misbehave now; there is nothing to lift."""
        self._inject(fault, message, "")

    def _inject(self, fault: Fault, message: str, shown: str) -> None:
        self._note("study.action", action="fault", message=message, fault=shown, shown=shown)
        self._session.server.inject(fault)

    def lift(self, fault: LessonFault) -> None:
        self._note("study.action", action="lift", message=fault.ends, lifted=[fault.shown])
        self._session.server.lift(fault.fault)

    def break_watch(self, of: str) -> LessonFault:
        """Break the watch of a kind; the next one opens when the returned fault is lifted."""
        down = network_down(of)
        self.inject(down)
        broken = CloseWatches(requests=watches_of(of), abruptly=True)
        self.inject_once(broken, "the connection breaks")
        self.wait("watch.ended", of=of)
        self.wait("request.sent", of=of)
        return down

    def wait_until_struck(self, fault: LessonFault) -> None:
        """Wait until a fault has had an effect."""
        if not self._session.server.wait_until_struck(fault.fault, timeout=TIMEOUT):
            raise LessonError(f"{fault.fault} has had no effect")

    def resync(self) -> None:
        """Ask the informers for a resync, as they ask themselves after the resync period."""
        self._note("study.action", action="resync", message="the resync period ends")
        for informer in self._session.informers():
            informer.resync()

    # Holding, and waiting

    def hold(self) -> None:
        """Hold each thread of the controller at its next boundary."""
        self._session.pacing.pause()

    def release(self) -> None:
        """Let all threads go."""
        self._session.pacing.resume()

    def let(self, boundary: str, of: str = "") -> None:
        """Let a thread pass a boundary, when it comes to it."""
        self._step(self._wait(f"a thread at {boundary} {of}", lambda: self._first({boundary}, of)))

    def let_until(
        self, hop: str, *boundaries: str, through: str = "", count: int = 1, **fields: Any
    ) -> Line:
        """Let threads ``through`` boundaries, of one component, until a hop follows; return it."""
        wanted = set(boundaries)

        def found() -> tuple[Line | None, int] | None:
            line, number = self._find(hop, count, fields), self._first(wanted, through)
            return None if line is None and number is None else (line, number or 0)

        while True:
            line, number = self._wait(f"{hop} {fields}", found)
            if line is not None:
                return line
            self._step(number)

    def let_enqueue(self, of: str, *, count: int = 1, **fields: Any) -> None:
        """Let events of a kind come through the cache until its handler has added keys."""
        self.let_until("queue.add", "watch.read", "fifo.take", through=of, count=count, **fields)

    def sync_next(self) -> None:
        """Let a worker take the next key and sync it; return when the key is done."""
        self.start_sync()
        self.finish_sync()

    def start_sync(self) -> None:
        """Let a worker take the next key and begin its sync."""
        self._read(0.0)
        self._since = len(self._seen)
        self.let("queue.take")
        self.let("sync")

    def finish_sync(self) -> None:
        """Wait until a key is done, and until the page has what its sync wrote."""
        self.wait("queue.done")
        self._wait("what the sync wrote", lambda: self._stored() == self._state.shown or None)

    def wait(self, hop: str, *, count: int = 1, **fields: Any) -> Line:
        """Wait for the hop with these fields, the n-th since the last sentence or sync."""

        return self._wait(f"{hop} {fields}", lambda: self._find(hop, count, fields))

    def cached(self, of: str, name: str) -> str:
        """Return the resource version at which an object is in the cache of an informer."""
        return self._state.cached[of, key(name)]

    def watched(self, of: str) -> str:
        """Return the last resource version that a reflector has seen."""
        return self._state.watched[of]

    def settle(self) -> None:
        """Wait until caches and page have what the server has, and no key is left to sync."""

        def found() -> bool | None:
            if not self._state.is_idle():
                return None
            return self._stored() == self._state.cached == self._state.shown or None

        self._wait("an end of what the controller does", found)

    def _find(self, hop: str, count: int, fields: Mapping[str, Any]) -> Line | None:
        fits = [line for line in self._seen[self._since :] if matches(line, hop, fields)]
        return fits[count - 1] if len(fits) >= count else None

    def _first(self, boundaries: Collection[str], of: str) -> int | None:
        """Return the number of the thread that has waited longest at one of the boundaries."""
        fits = (
            number
            for number, line in self._held.items()
            if line["boundary"] in boundaries and of in ("", line["of"].removesuffix(" reflector"))
        )
        return min(fits, default=None)

    def _step(self, number: int) -> None:
        self._held.pop(number)
        self._session.pacing.step(number)

    def _stored(self) -> dict[tuple[str, str], str]:
        """Return the versions that the server has, by kind and key."""
        stored: dict[tuple[str, str], str] = {}
        for name, objects in (("Foo", self._foos()), ("Deployment", self._deployments())):
            for obj in objects.list().items:
                version = str(obj.metadata.resource_version)
                stored[name, key(obj.metadata.name)] = version
        return stored

    def _wait(self, what: str, found: Callable[[], T | None]) -> T:
        while True:
            self._read(0.0)
            if self._ended.is_set():
                raise LessonError("another run has begun")
            result = found()
            if result is not None:
                return result
            if not self._read(TIMEOUT):
                last = [line["hop"] for line in self._seen[-6:]]
                raise LessonError(f"{what}: not seen; the last hops are {', '.join(last)}")

    def _read(self, timeout: float) -> bool:
        part = self._recording.read(self._position, timeout)
        self._position = part.end
        for encoded in part.lines:
            line = json.loads(encoded)
            self._seen.append(line)
            self._state.apply(line)
            if line["hop"] == "study.held":
                self._held[line["number"]] = line
            elif line["hop"] == "study.released":
                self._held.pop(line["number"], None)
        return bool(part.lines)

    def _mark(self, what: str, **rest: Any) -> None:
        """Leave a mark; the next steps look at what comes after it."""
        self._marks += 1
        self._note(MARK, what=what, number=self._marks, **rest)
        self._since = self._seen.index(self.wait(MARK, number=self._marks)) + 1

    def _note(self, hop: str, **rest: Any) -> None:
        trace = active_trace()
        if trace is None:
            raise LessonError("the session has ended")
        trace.note(hop, "", **rest)
