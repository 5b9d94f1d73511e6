"""Typed reads and writes of any kind, at the API server, or with reads from the caches.

Promises that a cached read is never older than what this process has written. Objects are sent as
they came with the typed changes laid over them: fields that a type or a cache leaves out survive.
Does not retry.

Source: controller-runtime pkg/client.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Required, TypeAlias, TypedDict, TypeVar, Unpack, overload

from clientgo.cache import WatchStream
from clientgo.client import PatchKind, ResourceClient
from clientgo.meta import (
    APIResource,
    DecodeError,
    ForbiddenError,
    GroupVersionKind,
    ListOptions,
    NotFoundError,
    ObjectName,
    StatusError,
    Unstructured,
    metadata_of,
)
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.configured_client import AnyKind, ConfiguredClient, kind_of
from clientgo.operator.client.differences import (
    as_wanted,
    merge_from,
    mutated_in_place,
    patch_for,
    to_apply,
)
from clientgo.operator.errors import NamespaceTerminatingError, OperatorError, is_gone
from clientgo.rest import TransportError
from clientgo.util.copies import uncopyable

S = TypeVar("S")

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
Selection: TypeAlias = str | Mapping[str, str]
NamedKind: TypeAlias = APIResource | GroupVersionKind


class Selecting(TypedDict, total=False):
    """The arguments of :meth:`LiveClient.list`. ``fields`` are what the API server can select by
    or, in a cache, what is indexed."""

    namespace: str
    labels: Selection | None
    fields: Mapping[str, str] | None
    limit: int | None


class Deleting(TypedDict, total=False):
    """The arguments of :meth:`LiveClient.delete`."""

    propagation: Propagation | None
    grace: int | None
    only_this: bool
    ignore_missing: bool


class DeletingAll(TypedDict, total=False):
    """The arguments of :meth:`LiveClient.delete_all_of`."""

    namespace: Required[str]
    labels: Selection | None
    fields: Mapping[str, str] | None
    propagation: Propagation | None
    grace: int | None


class Change(Enum):
    """What :meth:`LiveClient.create_or_update` did."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    STATUS_UPDATED = "status updated"
    BOTH = "both"


@uncopyable("it has connections to a server; make one in each process")
class LiveClient(ConfiguredClient):
    """Reads and writes at the API server. Immutable; thread-safe.

    Methods block, raise ``StatusError`` for a refusal and ``TransportError`` where there was no
    answer. Kinds are declared classes; an ``APIResource`` or ``GroupVersionKind`` gives
    unstructured objects.
    """

    @property
    def live(self) -> LiveClient:
        """The same client, reading at the API server."""
        return LiveClient(self.base, self._cache, self._options)

    # Reading

    @overload
    def get(self, kind: type[S], name: str, namespace: str = "") -> S: ...

    @overload
    def get(self, kind: NamedKind, name: str, namespace: str = "") -> Unstructured: ...

    def get(self, kind: AnyKind, name: str, namespace: str = "") -> Any:
        """Return one object. Raises ``NotFoundError``."""
        self._intercepted("get", kind)
        return self._get(self._known(kind), name, namespace)

    @overload
    def find(self, kind: type[S], name: str, namespace: str = "") -> S | None: ...

    @overload
    def find(self, kind: NamedKind, name: str, namespace: str = "") -> Unstructured | None: ...

    def find(self, kind: AnyKind, name: str, namespace: str = "") -> Any:
        """Like :meth:`get`, with None for what is not there."""
        try:
            return self.get(kind, name, namespace)
        except NotFoundError:
            return None

    @overload
    def list(self, kind: type[S], **options: Unpack[Selecting]) -> builtins.list[S]: ...

    @overload
    def list(
        self, kind: NamedKind, **options: Unpack[Selecting]
    ) -> builtins.list[Unstructured]: ...

    def list(self, kind: AnyKind, **options: Unpack[Selecting]) -> builtins.list[Any]:
        """Return objects of a namespace, or of all."""
        self._intercepted("list", kind)
        return self._list(self._known(kind), **options)

    def watch(
        self, kind: AnyKind, *, namespace: str = "", options: ListOptions | None = None
    ) -> WatchStream:
        """Watch objects, for code that is not a source."""
        self._intercepted("watch", kind)
        with self._until_stopped() as stop:
            return self._of(kind, namespace).watch(options, stop=stop)

    # Writing

    def create(self, obj: S) -> S:
        """Store a new object, return it as stored.

        Raises ``NamespaceTerminatingError`` where nothing can be created any more.
        """
        try:
            return self._write("create", obj, "", lambda o: self._for(obj).create(obj, **o))
        except ForbiddenError as error:
            causes: Iterable[Any] = error.status.details.causes
            if any(cause.reason == "NamespaceTerminating" for cause in causes):
                raise NamespaceTerminatingError(obj) from error
            raise

    def update(self, obj: S, *, subresource: str = "") -> S:
        """Replace an object, which must not have changed since it was read.

        Of an object that a cache has left parts out of only the changes are sent.
        """
        partial = self._cache.partial(kind_of(obj), obj)
        if partial is not None:
            changes = merge_from(partial, obj, optimistic=True)
            return self.patch(obj, changes, subresource=subresource)
        name = metadata_of(obj).name

        def send(options: dict[str, Any]) -> Any:
            return self._for(obj).update(obj, name=name, subresource=subresource, **options)

        return self._write("update", obj, subresource, send)

    def patch(
        self, obj: S, patch: Any, kind: PatchKind = PatchKind.MERGE, *, subresource: str = ""
    ) -> S:
        """Change an object by a patch, as :func:`merge_from` makes one."""
        name = metadata_of(obj).name

        def send(options: dict[str, Any]) -> Any:
            return self._for(obj).patch(name, patch, kind, subresource=subresource, **options)

        return self._write("patch", obj, subresource, send, _sent_by(patch))

    def apply(
        self, obj: S, *, force: bool = True, optimistic: bool = False, subresource: str = ""
    ) -> S:
        """Make the fields of ``obj`` so, as this field manager's (server-side apply).

        What only a server can know is left out; the version too, unless ``optimistic``: then it is
        a conflict if the object has changed.
        """
        wanted = to_apply(obj, optimistic=optimistic)

        def send(options: dict[str, Any]) -> Any:
            return self._for(obj).apply(wanted, force=force, subresource=subresource, **options)

        return self._write("apply", obj, subresource, send, _sent_by(wanted))

    def delete(
        self,
        obj: Any,
        *,
        propagation: Propagation | None = None,
        grace: int | None = None,
        only_this: bool = False,
        ignore_missing: bool = True,
    ) -> None:
        """Delete an object; one that is gone already is an error only if ``ignore_missing`` is
        False. A 404 that does not name the object is an error in any case.

        ``only_this``: not another object of the same name, nor a changed one. ``grace`` is in
        seconds.
        """
        self._before_write("delete", obj)
        metadata = metadata_of(obj)
        try:
            with self._until_stopped() as stop:
                self._for(obj).delete(
                    metadata.name,
                    propagation_policy=propagation or "",
                    grace_period_seconds=grace,
                    uid=metadata.uid if only_this else "",
                    resource_version=metadata.resource_version if only_this else "",
                    dry_run=self._options.dry_run,
                    stop=stop,
                )
        except NotFoundError as error:
            if not (ignore_missing and is_gone(error, metadata.name)):
                raise
        # The other two leave the object there until the garbage collector has done its work.
        if not self._options.dry_run and propagation in (None, "Background"):
            self._cache.deleted(kind_of(obj), obj)

    def delete_all_of(
        self,
        kind: AnyKind,
        *,
        namespace: str,
        labels: Selection | None = None,
        fields: Mapping[str, str] | None = None,
        propagation: Propagation | None = None,
        grace: int | None = None,
    ) -> None:
        """Delete the objects of a kind in a namespace, those that are selected."""
        self._before_write("delete_all_of", kind)
        kind, options = self._known(kind), _list_options(labels, fields)
        counts = not self._options.dry_run and propagation in (None, "Background")
        cached = self._cache.selected(
            kind, self._namespace(namespace), options.label_selector, options.field_selector
        )
        with self._until_stopped() as stop:
            deleted = self._of(kind, namespace).delete_collection(
                options,
                propagation_policy=propagation or "",
                grace_period_seconds=grace,
                dry_run=self._options.dry_run,
                stop=stop,
            )
        # A server that does not say which they were leaves it to the cache.
        for obj in (cached if deleted is None else deleted.items) if counts else ():
            self._cache.deleted(kind, obj)

    @property
    def status(self) -> Subresource:
        """The statuses of objects."""
        return Subresource(self, "status")

    def subresource(self, name: str) -> Subresource:
        """Another part of objects, as ``scale``."""
        return Subresource(self, name)

    def create_or_update(
        self,
        obj: S,
        mutate: Callable[[S], object] | None = None,
        *,
        ask_server: bool = False,
    ) -> tuple[S, Change]:
        """Create an object, or bring the one that is there to what ``mutate`` makes of it.

        ``mutate`` changes the object that is there, or the new one, in place; the default makes
        what ``obj`` says so and leaves everything else. Nothing is written if nothing differs.
        Where ``mutate`` replaces whole parts, which lack the server's defaults, ``ask_server``
        tries the change with a dry run first. Raises ``ValueError`` if ``mutate`` changes the name
        or the namespace.
        """
        metadata = metadata_of(obj)
        existing = self.find(kind_of(obj), metadata.name, metadata.namespace or "")
        if existing is None:
            if mutate is not None:
                mutated_in_place(obj, mutate)
            return self.create(obj), Change.CREATED
        patch = patch_for(existing, obj, mutate)
        has_status = "status" in self._for(existing).resource.subresources
        status = patch.pop("status", None) if has_status else None
        if patch and ask_server and self._comes_to_nothing(existing, patch):
            patch = {}
        result, change = existing, Change.UNCHANGED
        if patch:
            result, change = self.patch(existing, patch), Change.UPDATED
        if status is not None:
            result = self.patch(result, {"status": status}, subresource="status")
            change = Change.BOTH if change is Change.UPDATED else Change.STATUS_UPDATED
        return result, change

    def _comes_to_nothing(self, existing: Any, patch: dict[str, Any]) -> bool:
        return as_wanted(self.dry_run().patch(existing, patch)) == as_wanted(existing)

    # What a client that reads elsewhere overrides

    def _get(self, kind: Any, name: str, namespace: str) -> Any:
        with self._until_stopped() as stop:
            return self._of(kind, namespace).get(name, stop=stop)

    def _list(self, kind: Any, **selecting: Unpack[Selecting]) -> builtins.list[Any]:
        labels, fields = selecting.get("labels"), selecting.get("fields")
        options = _list_options(labels, fields, selecting.get("limit") or 0)
        with self._until_stopped() as stop:
            return self._of(kind, selecting.get("namespace", "")).list(options, stop=stop).items

    # Inside

    def _write(
        self,
        verb: str,
        obj: S,
        subresource: str,
        send: Callable[[dict[str, Any]], Any],
        sent: Any = None,
    ) -> S:
        try:
            return super()._write(verb, obj, subresource, send, sent)
        except NotFoundError as error:
            if subresource:
                self._check_served(obj, subresource, error)
            raise

    def _check_served(self, obj: Any, subresource: str, error: NotFoundError) -> None:
        """Raise ``OperatorError`` if an object is there, and only its subresource is not: the
        API server answers both alike."""
        objects, metadata = self._for(obj), metadata_of(obj)
        try:
            with self._until_stopped() as stop:
                found = objects.get(metadata.name, stop=stop)
        except (DecodeError, StatusError, TransportError):
            return
        if not metadata.uid or found.metadata.uid == metadata.uid:
            kind = objects.resource
            raise OperatorError(
                f"{kind.group_resource} {kind.version} has no subresource {subresource!r} in the "
                "cluster, so it cannot be written; if its definition is older than this program, "
                "install the current one"
            ) from error

    def _known(self, kind: AnyKind) -> type[Any] | APIResource:
        """The kind with where it is served, which for a mere name only the API server knows."""
        nameless = isinstance(kind, APIResource) and not kind.plural
        if isinstance(kind, GroupVersionKind) or nameless:
            return self.base.mapper.for_kind(kind.group, kind.kind, kind.version)
        return kind

    def _of(self, kind: AnyKind, namespace: str) -> ResourceClient[Any]:
        client: ResourceClient[Any] = self.base.resource(self._known(kind))
        namespace = self._namespace(namespace)
        return client.namespace(namespace) if client.resource.namespaced and namespace else client

    def _for(self, obj: Any) -> ResourceClient[Any]:
        return self._of(kind_of(obj), metadata_of(obj).namespace or "")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of objects that has its own requests."""

    client: LiveClient
    name: str

    def update(self, obj: S) -> S:
        return self.client.update(obj, subresource=self.name)

    def patch(self, obj: S, patch: Any, kind: PatchKind = PatchKind.MERGE) -> S:
        return self.client.patch(obj, patch, kind, subresource=self.name)

    def apply(self, obj: S, *, force: bool = True, optimistic: bool = False) -> S:
        return self.client.apply(obj, force=force, optimistic=optimistic, subresource=self.name)


def ignore(*refusals: type[StatusError]) -> AbstractContextManager[None]:
    """``with ignore(NotFoundError): ...``: such a refusal does not matter."""
    return suppress(*refusals)


def _sent_by(body: Any) -> Any:
    """Return what a patch can change; None if it is on the condition of a version.

    What a JSON patch changes is not looked at.
    """
    if isinstance(body, builtins.list):
        tests = (op for op in body if op.get("op") == "test")
        is_conditional = any(op["path"] == "/metadata/resourceVersion" for op in tests)
        return None if is_conditional else {}
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return None if metadata and metadata.get("resourceVersion") else body


def _list_options(
    labels: Selection | None, fields: Selection | None, limit: int = 0
) -> ListOptions:
    return ListOptions(
        label_selector=_text_of(labels), field_selector=_text_of(fields), limit=limit
    )


def _text_of(selection: Selection | None) -> str:
    if isinstance(selection, str):
        return selection
    return ",".join(f"{name}={value}" for name, value in sorted((selection or {}).items()))


class CachedClient(LiveClient):
    """Reads kinds that are declared, in namespaces that are watched. Immutable and thread-safe.

    Other reads raise ``KindNotCachedError``, ``NamespaceNotCachedError``, ``CacheNotStartedError``,
    ``IndexNotFoundError``. What is read belongs to the caller. Lists are ordered by namespace and
    name; ``fields`` selects by declared indexes, ``metadata.name`` and ``metadata.namespace``.
    """

    def _get(self, kind: Any, name: str, namespace: str) -> Any:
        namespace = self._namespace(namespace)
        found = self._cache.find(kind, ObjectName(namespace, name))
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
        return self._cache.select(kind, **selecting)
