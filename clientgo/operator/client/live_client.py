"""The clients: with reads at the API server, or from the caches.

Promises that a cached read is never older than what this process has written.

Source: controller-runtime pkg/client; pkg/controller/controllerutil CreateOrPatch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar, Unpack

from clientgo.client import PatchKind
from clientgo.meta import (
    NotFoundError,
    ObjectName,
    StatusError,
    Unstructured,
    metadata_of,
    to_plain,
)
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.applied import owns_exactly
from clientgo.operator.client.configured_client import AnyKind, kind_of
from clientgo.operator.client.differences import (
    as_wanted,
    differences,
    left_of,
    mutated_in_place,
    patch_for,
    patch_to,
    with_data,
)
from clientgo.operator.client.ownership import check_same_controller
from clientgo.operator.client.reading_client import OutsideCache, Selecting
from clientgo.operator.client.writing_client import WritingClient
from clientgo.util.copies import uncopyable

S = TypeVar("S")


class Change(Enum):
    """What :meth:`LiveClient.create_or_update` did."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    STATUS_UPDATED = "status updated"
    BOTH = "both"


@uncopyable("it has connections to a server; make one in each process")
class LiveClient(WritingClient):
    """Reads and writes at the API server. Immutable; thread-safe.

    Methods block, raise ``StatusError`` for a refusal and ``TransportError`` where there was no
    answer. Kinds are declared classes; an ``APIResource`` or ``GroupVersionKind`` gives
    unstructured objects.
    """

    @property
    def live(self) -> LiveClient:
        """The same client, reading at the API server."""
        return LiveClient(self.base, self._cache, self._options)

    @property
    def status(self) -> Subresource:
        """The statuses of objects."""
        return Subresource(self, "status")

    def subresource(self, name: str) -> Subresource:
        """Another part of objects, as ``scale``."""
        return Subresource(self, name)

    def apply(
        self,
        obj: S,
        *,
        force: bool = True,
        optimistic: bool = False,
        subresource: str = "",
        if_different: bool = False,
    ) -> S:
        """Make the fields of ``obj`` so, as this field manager's (server-side apply).

        What only a server can know is left out; the version too, unless ``optimistic``: then it is
        a conflict if the object has changed. With ``if_different`` the object is read first, and
        returned without a write if this field manager owns these fields, no others, and they have
        these values. For that, a cache must not leave the managed fields out.
        """
        compares = if_different and subresource in ("", "status")
        if compares and (there := self._applied(obj, subresource, optimistic)) is not None:
            return there
        stored = super().apply(obj, force=force, optimistic=optimistic, subresource=subresource)
        if compares:
            self._remember(*self._as_applied(obj, subresource), stored)
        return stored

    def _applied(self, obj: S, subresource: str, optimistic: bool) -> S | None:
        """Return what there is, if applying an object would change nothing."""
        metadata = metadata_of(obj)
        there = self.find(kind_of(obj), metadata.name, metadata.namespace or "")
        if type(there) is not type(obj):
            return None  # nothing, or its metadata alone
        if optimistic and metadata.resource_version != metadata_of(there).resource_version:
            return None
        plain, (name, wanted) = to_plain(there), self._as_applied(obj, subresource)
        manager = self._options.field_manager or self._for(obj).field_manager
        if not owns_exactly(plain, wanted, manager, subresource):
            return None
        if differences(plain, wanted) and not self._options.sent.is_settled(name, wanted, plain):
            return None
        return there

    def _as_applied(self, obj: Any, subresource: str) -> tuple[Hashable, dict[str, Any]]:
        """Return the name of an apply, and the fields that it is about."""
        wanted = as_wanted(obj)
        if subresource:
            names = ("apiVersion", "kind", subresource)
            metadata = {"name": wanted["metadata"]["name"]}
            wanted = {name: wanted.get(name) for name in names} | {"metadata": metadata}
        elif "status" in self._for(obj).resource.subresources:
            wanted.pop("status", None)
        return ("apply", self._name_of_write(obj, subresource)), wanted

    def create_or_update(
        self,
        obj: S,
        mutate: Callable[[S], object] | None = None,
        *,
        ask_server: bool = False,
    ) -> tuple[S, Change]:
        """Create an object, or bring the one that is there to what ``mutate`` makes of it.

        ``mutate`` changes the object that is there, or the new one, in place; the default makes
        what ``obj`` says so and leaves everything else, owners and finalizers too. Nothing is
        written if nothing differs, or if only that differs which the server has stored in its own
        form. Where ``mutate`` replaces whole parts, which lack the server's defaults,
        ``ask_server`` tries the change with a dry run first. Raises ``ValueError`` if ``mutate``
        changes the name or the namespace, ``AlreadyOwnedError`` if the object that is there has
        another controller than ``obj``.
        """
        kind, metadata = kind_of(obj), metadata_of(obj)
        named = kind, metadata.name, metadata.namespace or ""
        existing = self.find(*named)
        if existing is None and (hidden := self.find_outside_cache(*named)):
            existing = hidden.obj
        if existing is None:
            if mutate is not None:
                mutated_in_place(obj, mutate)
            created, sent = self.create(obj), _without_status(obj)
            sent = sent if mutate is None else patch_to(to_plain(created), sent)
            self._remember(self._name_of_write(created), sent, created)
            return created, Change.CREATED
        check_same_controller(existing, obj)
        patch = patch_for(existing, obj, mutate)
        has_status = "status" in self._for(existing).resource.subresources
        status = patch.pop("status", None) if has_status else None
        wanted = _without_status(obj) if mutate is None else None
        result, changed = self._brought(existing, patch, wanted, ask_server=ask_server)
        if status is None:
            return result, Change.UPDATED if changed else Change.UNCHANGED
        result, status_changed = self._brought(result, {"status": status}, None, "status")
        return result, _CHANGES[changed, status_changed]

    def _brought(
        self,
        existing: S,
        patch: dict[str, Any],
        wanted: dict[str, Any] | None,
        subresource: str = "",
        *,
        ask_server: bool = False,
    ) -> tuple[S, bool]:
        """Send a patch, unless the server has stored it in its own form.

        ``wanted`` is what it makes so; without it, the next patch is expected to have what this one
        has not changed. Return the object, and True if it has changed.
        """
        name, there = self._name_of_write(existing, subresource), to_plain(existing)
        sent = patch if wanted is None else wanted
        if not patch or self._options.sent.is_settled(name, sent, there):
            return existing, False
        if ask_server and as_wanted(self.dry_run().patch(existing, patch)) == as_wanted(existing):
            self._remember(name, sent, existing)
            return existing, False
        result = self.patch(existing, patch, subresource=subresource)
        left = left_of(patch, to_plain(self._as_read(result))) if wanted is None else wanted
        self._remember(name, left, result)
        before, after = (metadata_of(obj).resource_version for obj in (existing, result))
        if self._options.dry_run or not after:
            return result, as_wanted(result) != as_wanted(existing)
        return result, before != after

    def _remember(self, name: Hashable, sent: dict[str, Any], stored: Any) -> None:
        if not self._options.dry_run:
            self._options.sent.remember(name, sent, to_plain(self._as_read(stored)))

    def _as_read(self, stored: S) -> S:
        """Return an object as a later read of this version has it."""
        return stored

    def _name_of_write(self, obj: Any, subresource: str = "") -> Hashable:
        resource = api_resource(kind_of(obj))
        kind = resource.group, resource.kind
        return kind, ObjectName.of(obj), subresource, self._options.field_manager


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of objects that has its own requests.

    What they return is remembered for the caches if it is the object itself.
    """

    client: LiveClient
    name: str

    def until(self, stop: threading.Event) -> Subresource:
        """The same, with requests that end when ``stop`` is set."""
        return Subresource(self.client.until(stop), self.name)

    def get(self, obj: Any) -> Unstructured:
        """Read the part at the API server: the Scale of a Deployment, for example."""
        return self.client._get_below(obj, self.name)

    def create(self, obj: Any, body: Any) -> Unstructured:
        """Create an Eviction, TokenRequest or Binding for an object; return what is answered.

        ``body`` says its ``apiVersion`` and ``kind``; it gets the name of ``obj`` if it has none.
        An eviction that a disruption budget does not allow yet raises ``TooManyRequestsError``.
        """
        return self.client._create_under(obj, self.name, body)

    def update(self, obj: S) -> S:
        return self.client.update(obj, subresource=self.name)

    def patch(self, obj: S, patch: Any, kind: PatchKind = PatchKind.MERGE) -> S:
        return self.client.patch(obj, patch, kind, subresource=self.name)

    def apply(
        self,
        obj: S,
        *,
        force: bool = True,
        optimistic: bool = False,
        if_different: bool = False,
    ) -> S:
        return self.client.apply(
            obj,
            force=force,
            optimistic=optimistic,
            subresource=self.name,
            if_different=if_different,
        )


_CHANGES: Final = {
    (False, False): Change.UNCHANGED,
    (True, False): Change.UPDATED,
    (False, True): Change.STATUS_UPDATED,
    (True, True): Change.BOTH,
}
"""By what has changed: the object, and its status."""


def _without_status(obj: Any) -> dict[str, Any]:
    return {name: value for name, value in with_data(to_plain(obj)).items() if name != "status"}


def ignore(*refusals: type[StatusError]) -> AbstractContextManager[None]:
    """``with ignore(NotFoundError): ...``: such a refusal does not matter."""
    return suppress(*refusals)


class CachedClient(LiveClient):
    """Reads kinds that are declared, in namespaces that are watched. Immutable and thread-safe.

    Reads contain what this process has written, unless they are those of
    :meth:`without_own_writes`.

    Other reads raise ``KindNotCachedError``, ``NamespaceNotCachedError``, ``CacheNotStartedError``,
    ``IndexNotFoundError``. What is read belongs to the caller. Lists are ordered by namespace and
    name; ``fields`` selects by declared indexes, ``metadata.name`` and ``metadata.namespace``.
    """

    def _get(self, kind: Any, name: str, namespace: str) -> Any:
        namespace = self._namespace(namespace)
        key = ObjectName(namespace, name)
        found = self._cache.find(kind, key, own_writes=self._options.own_writes)
        if found is None:
            resource = api_resource(kind)
            raise NotFoundError.of(
                f'{resource.group_resource} "{name}" not found in the cache'
                + (f" of namespace {namespace!r}" if namespace else ""),
                name=name,
                kind=resource.plural,
                group=resource.group,
            )
        return found

    def _list(self, kind: Any, **selecting: Unpack[Selecting]) -> list[Any]:
        selecting["namespace"] = self._namespace(selecting.get("namespace", ""))
        return self._cache.select(kind, own_writes=self._options.own_writes, **selecting)

    def find_outside_cache(
        self, kind: AnyKind, name: str, namespace: str = ""
    ) -> OutsideCache | None:
        cache = self._cache.peek(self._known(kind))
        if cache is None or not cache.is_limited(self._namespace(namespace)):
            return None
        found = self.live.find(kind, name, namespace)
        limits = "" if found is None or cache.selects(found) else cache.limits()
        return None if found is None else OutsideCache(found, limits)

    def _as_read(self, stored: S) -> S:
        partial: S | None = self._cache.partial(kind_of(stored), stored)
        return stored if partial is None else partial
