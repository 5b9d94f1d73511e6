"""What all requests of one client have in common.

Promises that every write is guarded, intercepted and remembered for the caches, and that every
request ends when the client's ``stop`` is set. A client is never changed: its methods return
others.

Source: controller-runtime pkg/client (NewNamespacedClient, NewDryRunClient, WithFieldOwner).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias, TypeVar

from clientgo import __version__
from clientgo.client import Client
from clientgo.meta import (
    APIResource,
    GroupVersion,
    GroupVersionKind,
    PartialObjectMetadata,
    Unstructured,
    resource_of,
    to_plain,
)
from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.cache.object_cache import ObjectCache, api_resource
from clientgo.operator.client.sent_writes import SentWrites
from clientgo.operator.errors import CancelledError, OperatorError
from clientgo.record.lru_cache import LRUCache
from clientgo.rest import RequestStoppedError, RestConfig, default_user_agent, rest_config_of

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The options of a client.

    ``guard`` is called before every write and raises where there must be none, as after leadership
    was lost. ``intercept`` is called with the verb and the object or kind of each call; it may
    raise.
    """

    namespace: str = ""
    field_manager: str = ""
    field_validation: str = ""
    dry_run: bool = False
    own_writes: bool = True
    """Whether what is read from a cache contains what this process has written since."""
    guard: Callable[[], object] | None = None
    intercept: Callable[[str, Any], object] | None = None
    stop: threading.Event | None = None
    """Ends requests that are under way when it is set."""
    writer: Callable[[], Any] | None = None
    """Who writes, as ``OwnWrites`` remembers it."""
    sent: SentWrites = field(default_factory=SentWrites)
    """Of ``create_or_update``, and of ``apply`` with ``if_different``."""


class ConfiguredClient:
    """A client with options, and the frames of its requests. Immutable; safe for every thread."""

    def __init__(
        self, client: Client, cache: ObjectCache, options: ClientOptions | None = None
    ) -> None:
        self.base = client
        self._cache = cache
        self._options = options or ClientOptions()

    # The same client, otherwise

    def namespaced(self, namespace: str) -> Self:
        """Objects without a namespace get this one; another one is an error."""
        return self._with(namespace=namespace)

    def dry_run(self) -> Self:
        """Writes are checked by the API server and not stored."""
        return self._with(dry_run=True)

    def without_own_writes(self) -> Self:
        """Reads of caches are what the watches have brought, without the writes of this process.

        For comparison, and for loops that read very often. Reads may be older than own writes.
        """
        return self._with(own_writes=False)

    def as_manager(self, field_manager: str) -> Self:
        """Writes are in the name of another field manager."""
        return self._with(field_manager=field_manager)

    def strict(self) -> Self:
        """Writes with fields that the API server does not know are refused."""
        return self._with(field_validation="Strict")

    def intercepted(self, intercept: Callable[[str, Any], object]) -> Self:
        """Call a function first, with the verb and the object that is written or the kind that is
        read; what it raises is raised."""
        return self._with(intercept=intercept)

    def written_by(self, writer: Callable[[], Any]) -> Self:
        """Writes are remembered as those of whom ``writer()`` names."""
        return self._with(writer=writer)

    def until(self, stop: threading.Event) -> Self:
        """Requests under way when ``stop`` is set end, those after it do not begin: both raise
        ``CancelledError``."""
        return self._with(stop=stop)

    def guarded(self, guard: Callable[[], object]) -> Self:
        """Before each write ``guard()`` is called; what it raises is raised."""
        return self._with(guard=guard)

    def _with(self, **changes: Any) -> Self:
        return type(self)(self.base, self._cache, replace(self._options, **changes))

    # The frames of requests

    def _namespace(self, namespace: str) -> str:
        own = self._options.namespace
        if own and namespace and own != namespace:
            raise OperatorError(
                f"this client is for namespace {own!r}; the object is in {namespace!r}"
            )
        return namespace or own

    def _intercepted(self, verb: str, subject: Any) -> None:
        if self._options.intercept is not None:
            self._options.intercept(verb, subject)

    def _before_write(self, verb: str, subject: Any) -> None:
        if isinstance(subject, PartialObjectMetadata):
            raise OperatorError(
                f"{verb}: only the metadata of {subject.metadata.name!r} was read; write an object "
                "of its own kind, or read all of it with client.live"
            )
        if self._options.guard is not None:
            self._options.guard()
        self._intercepted(verb, subject)

    def _write(
        self,
        verb: str,
        obj: S,
        subresource: str,
        send: Callable[[dict[str, Any]], Any],
        sent: Any = None,
        body: Any = None,
    ) -> S:
        """Make one write: ``send`` is given the options of the request, and returns its answer.

        ``sent`` are the fields of a write that is on no condition; ``body`` is what is created
        under ``obj``.
        """
        self._before_write(verb, obj if body is None else body)
        options = self._options
        writer = options.writer() if options.writer and not options.dry_run else None
        kind = kind_of(obj)
        with self._cache.writing(kind, writer), self._until_stopped() as stop:
            answer: S = send(
                {
                    "field_manager": options.field_manager,
                    "field_validation": options.field_validation,
                    "dry_run": options.dry_run,
                    "stop": stop,
                }
            )
            if not options.dry_run and (subresource in ("", "status") or _is_of(kind, answer)):
                self._cache.wrote(kind, answer, writer, sent)
            return answer

    @contextmanager
    def _until_stopped(self) -> Iterator[threading.Event | None]:
        """Give what ends a request early; raise ``CancelledError`` if that happened."""
        try:
            yield self._options.stop
        except RequestStoppedError as error:
            raise CancelledError(f"the request was cut short: {error}") from error


AnyKind: TypeAlias = type[Any] | APIResource | GroupVersionKind
"""A declared class, or a kind whose objects are unstructured."""


def kind_of(obj: Any) -> Any:
    """What an object is an instance of: its class or, unstructured, its group, version and kind."""
    if isinstance(obj, Unstructured):
        group, version = GroupVersion.parse(obj.api_version)
        return APIResource(group=group, version=version, kind=obj.kind, plural="")
    if isinstance(obj, dict):
        raise TypeError("a dict has no type; pass an object, or Unstructured.from_dict(...)")
    resource_of(type(obj))
    return type(obj)


def _is_of(kind: Any, answer: Any) -> bool:
    """Return True if the answer about a subresource is the whole object, in a new version: of
    ``resize`` it is, of ``scale`` it is a Scale, and of ``eviction`` a Status."""
    if not isinstance(answer, Unstructured) and not isinstance(kind, type):
        return False
    resource, plain = api_resource(kind), to_plain(answer)
    is_same = (plain.get("apiVersion"), plain.get("kind")) == (resource.api_version, resource.kind)
    return is_same and bool(answer.metadata.resource_version)


REMEMBERED: Final = 1000

_log = logging.getLogger("clientgo.operator.client")


def client_of(cluster: Any, name: str, metrics: MetricsProvider) -> Client:
    """Return a client as it is, and for anything else one with the user agent of an operator.

    A user agent that the configuration sets stays. Raises ``ConfigError``.
    """
    if isinstance(cluster, Client):
        return cluster
    given = warning_once(cluster)
    has_its_own = given.user_agent != default_user_agent()
    return Client(
        replace(
            given,
            user_agent=given.user_agent
            if has_its_own
            else f"clientgo-operator/{__version__} ({name})",
            metrics=given.metrics or (None if metrics is NO_METRICS else metrics),
        )
    )


class WarningsOnce:
    """A handler of warnings. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: LRUCache[str, bool] = LRUCache(REMEMBERED)

    def __call__(self, text: str) -> None:
        with self._lock:
            known = self._seen.get(text)
            self._seen.put(text, True)
        if not known:
            _log.warning("the API server warns: %s", text)


def warning_once(cluster: Any) -> RestConfig:
    """Return how to reach a cluster, with this handler unless it has one."""
    config = rest_config_of(cluster)
    return config if config.warning_handler else replace(config, warning_handler=WarningsOnce())
