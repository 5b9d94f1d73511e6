"""Typed writes of any kind, at the API server.

Promises that what a write returns is remembered for the caches. Objects are sent as they came with
the typed changes laid over them: fields that a type or a cache leaves out survive. Does not retry.

Source: controller-runtime pkg/client (Writer).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Required, TypeAlias, TypedDict, TypeVar

from clientgo.client import PatchKind
from clientgo.meta import (
    AlreadyExistsError,
    DecodeError,
    ForbiddenError,
    NotFoundError,
    StatusError,
    Unstructured,
    metadata_of,
)
from clientgo.operator.client.configured_client import AnyKind, kind_of
from clientgo.operator.client.differences import merge_from, to_apply
from clientgo.operator.client.reading_client import ReadingClient, Selection, list_options
from clientgo.operator.errors import NamespaceTerminatingError, OperatorError, is_gone
from clientgo.rest import TransportError

S = TypeVar("S")

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]


class Deleting(TypedDict, total=False):
    """The arguments of :meth:`WritingClient.delete`."""

    propagation: Propagation | None
    grace: int | None
    only_this: bool
    ignore_missing: bool


class DeletingAll(TypedDict, total=False):
    """The arguments of :meth:`WritingClient.delete_all_of`."""

    namespace: Required[str]
    labels: Selection | None
    fields: Mapping[str, str] | None
    propagation: Propagation | None
    grace: int | None


class WritingClient(ReadingClient):
    """Writes of a client."""

    def create(self, obj: S) -> S:
        """Store a new object, return it as stored.

        Raises ``NamespaceTerminatingError`` where nothing can be created any more.
        """
        try:
            return self._write("create", obj, "", lambda o: self._for(obj).create(obj, **o))
        except AlreadyExistsError as error:
            cache = self._cache.peek(self._known(kind_of(obj)))
            if cache is not None and (limits := cache.limits()):
                error.add_note(
                    f"The cache has only {cache.resource.plural} {limits}, so a read may not find "
                    "it: use create_or_update, or read it with client.live."
                )
            raise
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
        version = ""
        try:
            with self._until_stopped() as stop:
                version = self._for(obj).delete(
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
            self._cache.deleted(kind_of(obj), obj, version)

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
        kind, options = self._known(kind), list_options(labels, fields)
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

    def _create_under(self, obj: Any, subresource: str, body: Any) -> Unstructured:
        if isinstance(body, Mapping) and not isinstance(body, Unstructured):
            metadata = {"name": metadata_of(obj).name, **(body.get("metadata") or {})}
            body = Unstructured.from_dict({**body, "metadata": metadata})

        def send(options: dict[str, Any]) -> Any:
            name = metadata_of(obj).name
            return self._untyped(obj).create(body, name=name, subresource=subresource, **options)

        answer: Unstructured = self._write("create", obj, subresource, send, body=body)
        return answer

    # Inside

    def _write(
        self,
        verb: str,
        obj: S,
        subresource: str,
        send: Callable[[dict[str, Any]], Any],
        sent: Any = None,
        body: Any = None,
    ) -> S:
        try:
            return super()._write(verb, obj, subresource, send, sent, body)
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


def _sent_by(body: Any) -> Any:
    """Return what a patch can change; None if it is on the condition of a version.

    What a JSON patch changes is not looked at.
    """
    if isinstance(body, builtins.list):
        is_conditional = any(op["path"] == "/metadata/resourceVersion" for op in body)
        return None if is_conditional else {}
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return None if metadata and metadata.get("resourceVersion") else body
