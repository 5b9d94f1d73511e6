"""A cluster for tests: the embedded API server, its objects by kind, and faults in few words.

Promises what :class:`~clientgo.testcluster.server.EmbeddedAPIServer` does: status apart from spec,
generations, finalizers, garbage collection, conflicts, selectors, watches with bookmarks and 410,
server-side apply, schemas of custom kinds, admission webhooks. What an operator asks of it is
noted.

Does not promise nodes or pods that run; :class:`~clientgo.testcluster.workloads.WorkloadSimulator`
makes Deployments report that they do.

Upstream: controller-runtime ``envtest`` and ``client/fake``, here in one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import NotFoundError, StatusError, metadata_of, resource_of
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import WRITES
from clientgo.testing.fakes.actions import ANY, Action
from clientgo.testing.faults import (
    CloseWatches,
    ExpireHistory,
    FailRequests,
    FreezeWatches,
    Requests,
)
from clientgo.testing.recording_transport import READING, RecordingTransport
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

S = TypeVar("S")

_OPERATOR: Final = "operator-under-test"
"""The user agent of the operator's requests, which differs from that of the test."""

_VERBS: Final = ("write", "get", "list", "watch", *WRITES)
"""What :meth:`FakeCluster.fail` takes."""

_NOT_ITS_WORK: Final = ("events", "leases")


@uncopyable("it has threads; make one in each process")
class FakeCluster:
    """Thread-safe; a context manager, or :meth:`close` it.

    A block that ends without an error raises ``AssertionError`` if a fault of :meth:`fail` has met
    no request: the test has not tested it.

    ``objects`` are there from the beginning, and ``crds`` are kinds to be defined besides theirs.
    ``clock`` is for managers, see :func:`~clientgo.testing.operator.running`: a
    :class:`~clientgo.testing.FakeClock` lets the test step through timers, retries and leases.
    """

    def __init__(
        self, *objects: Any, crds: Sequence[type[Any]] = (), clock: Clock = REAL_CLOCK
    ) -> None:
        self.clock = clock
        self._expected: list[FailRequests] = []
        """Faults that have to meet a request."""
        self.server = EmbeddedAPIServer().start()
        self._client = Client(self._config("test"))
        self._transport = RecordingTransport(HTTPTransport(self._config(_OPERATOR)))
        kinds = dict.fromkeys([*crds, *(type(obj) for obj in objects)])
        for definition in definitions_of([kind for kind in kinds if not _is_built_in(kind)]):
            self._client.resource(CustomResourceDefinition).create(definition)
        self.create(*objects)

    def client(self) -> Client:
        """A client for the test; what it asks is not noted, and faults spare it."""
        return self._client

    def operator_client(self) -> Client:
        """A client for an operator under test, as its manager takes one."""
        return Client(self._config(_OPERATOR), transport=self._transport)

    def close(self) -> None:
        self._client.close()
        self._transport.close()
        self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        missed = self._missed() if error is None else []
        self.close()
        if missed:
            raise AssertionError("\n".join(missed))

    # Its objects

    def create(self, *objects: Any) -> None:
        for obj in objects:
            self._of(type(obj), metadata_of(obj).namespace or "default").create(obj)

    def get(self, kind: type[S], name: str, namespace: str = "default") -> S | None:
        """An object as it is now, or None."""
        try:
            found: S = self._of(kind, namespace).get(name)
        except NotFoundError:
            return None
        return found

    def all(self, kind: type[S]) -> list[S]:
        """All objects of a kind as they are now."""
        return list(self._of(kind, "").list().items)

    def patch(self, obj: Any, patch: dict[str, Any], **options: Any) -> Any:
        """Change an object, known by its kind and name, by a merge patch."""
        metadata = metadata_of(obj)
        objects = self._of(type(obj), metadata.namespace or "default")
        return objects.patch(metadata.name, patch, **options)

    def delete(self, obj: Any) -> None:
        metadata = metadata_of(obj)
        self._of(type(obj), metadata.namespace or "default").delete(metadata.name)

    # What the operator does

    def actions(self) -> list[Action]:
        """What operators asked so far."""
        return self._transport.actions()

    def writes(self) -> list[str]:
        """What operators wrote so far, in short, Events and leases left out."""
        return _work(self._transport.actions())

    def wait_for_write(self, after: int, timeout: float) -> bool:
        """Block until there are more writes than ``after``, for so many real seconds at most."""
        try:
            self._transport.wait_for(lambda asked: len(_work(asked)) > after, timeout)
        except TimeoutError:
            return False
        return True

    # Faults, which meet operators only

    def fail(
        self,
        verb: str,
        kind: type[Any],
        error: StatusError,
        *,
        times: int | None = 1,
        after: int = 0,
        status: bool = False,
        optional: bool = False,
    ) -> FailRequests:
        """Answer the next requests of a kind with an error, those after ``after`` that succeed.

        ``verb`` is that of the request, ``"write"`` for all that change something. An apply is a
        ``"patch"``, and most Dependents are applied. ``status`` means the requests for statuses.
        ``times`` None is for ever. Returns the fault: ``server.lift(fault)`` ends it,
        ``server.struck(fault)`` counts it. A fault that meets no request fails the test, unless it
        is ``optional``. Raises ``ValueError`` for a verb that no request has, and ``TypeError``.
        """
        if verb not in _VERBS:
            hint = "; an apply is a patch" if verb == "apply" else ""
            raise ValueError(f"no request has the verb {verb!r}{hint}: use {', '.join(_VERBS)}")
        if not isinstance(error, StatusError):
            raise TypeError(f"pass an error, as InternalServerError.of('no'), not {error!r}")
        plural = resource_of(kind).plural + "/status" * status
        verbs = WRITES if verb == "write" else (verb,)
        fault = FailRequests(
            requests=Requests(verbs=verbs, resource=plural, user_agent=_OPERATOR),
            status=error.code,
            times=times,
            skip=after,
        )
        self.server.inject(fault)
        if not optional:
            self._expected.append(fault)
        return fault

    @contextmanager
    def stale(self, kind: type[Any]) -> Iterator[None]:
        """Caches do not learn of what happens to a kind in the block, until its end."""
        frozen = FreezeWatches(requests=self._watches(kind))
        self.server.inject(frozen)
        try:
            yield
        finally:
            self.server.lift(frozen)

    def delay_watch(self, kind: type[Any], seconds: float) -> None:
        """Caches learn of what happens to a kind only so many real seconds later."""
        frozen = FreezeWatches(requests=self._watches(kind))
        self.server.inject(frozen)
        timer = threading.Timer(seconds, self.server.lift, (frozen,))
        timer.daemon = True
        timer.start()

    def drop_watches(self, kind: type[Any]) -> None:
        """Break the connections by which caches learn of a kind; what was missed is not kept."""
        self.server.inject(CloseWatches(requests=self._watches(kind), abruptly=True))
        self.server.inject(ExpireHistory())

    def steal_lease(self, name: str, namespace: str = "default") -> None:
        """Make another process the holder of an operator's lease."""
        self._of(Lease, namespace).patch(name, {"spec": {"holderIdentity": "thief"}})

    # Inside

    def _missed(self) -> list[str]:
        """Say of each fault that has met no request what was sent instead."""
        return [
            f"a fault has met no request: {'/'.join(fault.requests.verbs)} "
            f"{fault.requests.resource}{f' after {fault.skip}' if fault.skip else ''}. "
            f"{self._sent_to(fault.requests.resource)}; write optional=True if it need not happen"
            for fault in self._expected
            if not self.server.struck(fault)
        ]

    def _sent_to(self, resource: str) -> str:
        actions = [a for a in self._transport.actions() if a.matches(ANY, resource)]
        sent = Counter(f"{a.verb}/{a.subresource}" if a.subresource else a.verb for a in actions)
        if not sent:
            return "The operator sent none about this resource"
        counts = ", ".join(f"{count} {request}" for request, count in sent.items())
        applies = " (an apply is a patch)" if sent["patch"] else ""
        if sent["patch/status"] + sent["update/status"]:
            applies += " (status=True is for requests of statuses)"
        return f"The operator sent {counts}{applies}"

    def _of(self, kind: type[Any], namespace: str) -> Any:
        objects: Any = self._client.resource(kind)
        return (
            objects.namespace(namespace) if objects.resource.namespaced and namespace else objects
        )

    def _config(self, user_agent: str) -> RestConfig:
        return RestConfig(server=self.server.url, user_agent=user_agent)

    def _watches(self, kind: type[Any]) -> Requests:
        return Requests(verbs=("watch",), resource=resource_of(kind).plural, user_agent=_OPERATOR)


def _work(actions: Sequence[Action]) -> list[str]:
    return [
        str(action)
        for action in actions
        if action.verb not in READING and action.resource.resource not in _NOT_ITS_WORK
    ]


def _is_built_in(kind: type[Any]) -> bool:
    return kind.__module__.startswith("clientgo.api.")
