"""Typed reads of any kind, at the API server.

Source: controller-runtime pkg/client (Reader).
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, overload

from clientgo.cache import WatchStream
from clientgo.client import ResourceClient
from clientgo.meta import (
    APIResource,
    GroupVersionKind,
    ListOptions,
    NotFoundError,
    Unstructured,
    metadata_of,
)
from clientgo.operator.client.configured_client import AnyKind, ConfiguredClient, kind_of

S = TypeVar("S")

Selection: TypeAlias = str | Mapping[str, str]
NamedKind: TypeAlias = APIResource | GroupVersionKind


class Selecting(TypedDict, total=False):
    """The arguments of :meth:`ReadingClient.list`. ``fields`` are what the API server can select by
    or, in a cache, what is indexed."""

    namespace: str
    labels: Selection | None
    fields: Mapping[str, str] | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class OutsideCache:
    """An object as the API server has it. ``limits`` describe what the cache has instead; empty if
    the cache only does not have it yet."""

    obj: Any
    limits: str


class ReadingClient(ConfiguredClient):
    """Reads of a client; one that reads elsewhere overrides ``_get`` and ``_list``."""

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

    def _get_below(self, obj: Any, subresource: str) -> Unstructured:
        self._intercepted("get", kind_of(obj))
        with self._until_stopped() as stop:
            return self._untyped(obj).get(metadata_of(obj).name, subresource=subresource, stop=stop)

    def find_outside_cache(
        self, kind: AnyKind, name: str, namespace: str = ""
    ) -> OutsideCache | None:
        """Return an object that exists although a cache, which is limited by labels or fields, does
        not have it; None if there is none, or if no read comes from a limited cache."""
        return None

    # Inside

    def _get(self, kind: Any, name: str, namespace: str) -> Any:
        with self._until_stopped() as stop:
            return self._of(kind, namespace).get(name, stop=stop)

    def _list(self, kind: Any, **selecting: Unpack[Selecting]) -> builtins.list[Any]:
        labels, fields = selecting.get("labels"), selecting.get("fields")
        options = list_options(labels, fields, selecting.get("limit") or 0)
        with self._until_stopped() as stop:
            return self._of(kind, selecting.get("namespace", "")).list(options, stop=stop).items

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

    def _untyped(self, obj: Any) -> ResourceClient[Unstructured]:
        """The objects of the kind of ``obj``, whose subresources may be of other kinds."""
        return self._of(self._for(obj).resource, metadata_of(obj).namespace or "")

    def _for(self, obj: Any) -> ResourceClient[Any]:
        return self._of(kind_of(obj), metadata_of(obj).namespace or "")


def list_options(labels: Selection | None, fields: Selection | None, limit: int = 0) -> ListOptions:
    return ListOptions(
        label_selector=_text_of(labels), field_selector=_text_of(fields), limit=limit
    )


def _text_of(selection: Selection | None) -> str:
    if isinstance(selection, str):
        return selection
    return ",".join(f"{name}={value}" for name, value in sorted((selection or {}).items()))
