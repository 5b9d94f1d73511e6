"""Write objects of any kind: each says its kind itself.

Promises: an object is written where its kind is served, and comes back in the form in which it was
passed: a declared object, a model of the `kubernetes` package, an `Unstructured`, or a dict with
`apiVersion` and `kind`.

Does not guess a namespace: an object that has none needs the one of the call. Source:
controller-runtime pkg/client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

from clientgo.client.patch_kind import PatchKind
from clientgo.client.resource_client import ResourceClient
from clientgo.meta import KubernetesModel, Unstructured, metadata_of

T = TypeVar("T")


class WriteOptions(TypedDict, total=False):
    """Options of every write, as :class:`~clientgo.client.ResourceClient` explains them."""

    namespace: str
    subresource: str
    field_manager: str
    field_validation: str
    dry_run: bool
    stop: threading.Event | None


class ObjectWrites:
    """The writes that need no resource client of a kind.

    They raise what those of :class:`~clientgo.client.ResourceClient` do,
    :class:`~clientgo.client.NoMatchError` for a kind that is not served, and ``TypeError`` for a
    value that is no object.
    """

    def create(self, obj: T, **options: Unpack[WriteOptions]) -> T:
        """Store a new object and return it as stored."""
        return self._write(obj, options, lambda client, rest: client.create(obj, **rest))

    def update(self, obj: T, **options: Unpack[WriteOptions]) -> T:
        """Replace an object; its ``resourceVersion`` must be the stored one, or be absent."""
        return self._write(obj, options, lambda client, rest: client.update(obj, **rest))

    def patch(
        self,
        obj: T,
        patch: Mapping[str, Any] | Sequence[Any] | KubernetesModel | bytes,
        kind: PatchKind = PatchKind.MERGE,
        **options: Unpack[WriteOptions],
    ) -> T:
        """Change the object with the name of ``obj``, of which nothing else matters."""
        name = metadata_of(obj).name
        return self._write(
            obj, options, lambda client, rest: client.patch(name, patch, kind, **rest)
        )

    def apply(self, obj: T, *, force: bool = False, **options: Unpack[WriteOptions]) -> T:
        """Make the fields of ``obj`` so, as this field manager's (server-side apply)."""
        return self._write(
            obj, options, lambda client, rest: client.apply(obj, force=force, **rest)
        )

    def delete(
        self,
        obj: Any,
        *,
        namespace: str = "",
        propagation_policy: str = "",
        stop: threading.Event | None = None,
    ) -> None:
        """Delete the object with the name of ``obj``, of which nothing else matters."""
        client = self._client_for(obj, namespace)
        client.delete(metadata_of(obj).name, propagation_policy=propagation_policy, stop=stop)

    def _client_for(self, obj: Any, namespace: str) -> ResourceClient[Any]:
        """The client for the kind and form of an object, in its namespace or else in this one."""
        raise NotImplementedError

    def _write(
        self,
        obj: T,
        options: WriteOptions,
        send: Callable[[ResourceClient[Any], dict[str, Any]], Any],
    ) -> T:
        rest: dict[str, Any] = dict(options)
        client = self._client_for(obj, rest.pop("namespace", ""))
        stored = send(client, rest)
        is_dict = isinstance(stored, Unstructured) and not isinstance(obj, Unstructured)
        written: T = stored.to_dict() if is_dict else stored
        return written
