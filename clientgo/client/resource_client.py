"""Reading and writing the objects of one kind.

Promises: one method for each API verb. Objects come back as the client's type; pass that type, an
`Unstructured`, a plain dict or a model of the `kubernetes` package. A type checker refuses another
declared type. Unknown fields are sent back unchanged.

Does not retry conflicts (:func:`clientgo.util.wait.retry_on_conflict` does), nor cache (listers
do).

Differs from client-go (`gentype`, `dynamic`): one generic class for typed, unstructured and
metadata-only access.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from clientgo.cache import NotServedError, WatchStream
from clientgo.client.patch_kind import PatchKind
from clientgo.client.pod_streams import PodStreams
from clientgo.client.served import why_not_served
from clientgo.meta import (
    APIResource,
    Codec,
    DecodeError,
    KubernetesModel,
    ListOptions,
    ObjectList,
    StatusError,
    Unstructured,
    encode_plain,
    to_plain,
)
from clientgo.meta.wire.answers import check_deletion
from clientgo.rest import Request, RequestError, RestClient
from clientgo.util.copies import uncopyable

T = TypeVar("T")


@uncopyable("it has connections to a server; make one in each process")
class ResourceClient(PodStreams, Generic[T]):
    """Objects of one kind, in one namespace or in all; immutable, safe for every thread.

    Every method that talks to the server blocks and raises
    :class:`~clientgo.meta.StatusError` for a refusal, :class:`~clientgo.rest.TransportError` where
    there was no answer, :class:`~clientgo.rest.RequestError` for a call that cannot be right,
    :class:`~clientgo.meta.DecodeError` for a successful answer that is not what was asked for. If
    ``stop`` is set in the meantime it ends immediately with
    :class:`~clientgo.rest.RequestStoppedError`.

    ``subresource`` addresses a part of an object, such as ``"status"`` or ``"scale"``.
    ``dry_run`` lets the server check a write without storing it. ``field_manager`` names the
    writer in ``managedFields``. ``field_validation`` is ``Strict``, ``Warn`` or ``Ignore``: what
    becomes of a write with fields that the server does not know.
    """

    __slots__ = (
        "_accept",
        "_accept_list",
        "_codec",
        "_namespace",
        "_rest",
        "field_manager",
        "resource",
    )

    def __init__(
        self,
        rest: RestClient,
        resource: APIResource,
        codec: Codec[Any],
        *,
        namespace: str = "",
        field_manager: str = "",
        accept: str = "",
        accept_list: str = "",
    ) -> None:
        self._rest = rest
        self._codec = codec
        self._namespace = namespace
        self._accept = accept
        self._accept_list = accept_list
        self.resource = resource
        self.field_manager = field_manager

    @property
    def type(self) -> type[T]:
        """What objects come back as."""
        return self._codec.type

    def namespace(self, namespace: str) -> ResourceClient[T]:
        """The same, for the objects of one namespace; the empty string means all."""
        return ResourceClient(
            self._rest,
            self.resource,
            self._codec,
            namespace=namespace,
            field_manager=self.field_manager,
            accept=self._accept,
            accept_list=self._accept_list,
        )

    def get(
        self,
        name: str,
        *,
        resource_version: str = "",
        subresource: str = "",
        stop: threading.Event | None = None,
    ) -> T:
        """One object, by name."""
        request = self._for_object("GET", name, subresource)
        if resource_version:
            request.query("resourceVersion", resource_version)
        return self._decoded(request, subresource, stop)

    def list(
        self, options: ListOptions | None = None, stop: threading.Event | None = None
    ) -> ObjectList[T]:
        """One page of the objects, or all of them if ``options`` set no limit.

        ``metadata.continue_`` of the result leads to the next page.
        """
        request = self._for_collection("GET", options)
        if self._accept_list:
            request.header("Accept", self._accept_list)
        return request.decoded(self._codec.decode_list, stop)

    def watch(
        self, options: ListOptions | None = None, stop: threading.Event | None = None
    ) -> WatchStream:
        """What happens to the objects from now, or from the options' resource version, on."""
        request = self._for_collection("GET", options).query("watch", "true")
        return request.watch(self._codec, stop)

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        """Return why the server does not serve these objects; None if it does.

        Asks the server up to three times. Raises as every method does if the answer is unknown.
        """
        return why_not_served(self._rest, self.resource, self._namespace, stop)

    def create(
        self,
        obj: T | Unstructured | Mapping[str, Any] | KubernetesModel,
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Store a new object and return it as stored.

        With ``subresource`` and ``name`` something is created under an existing object, as an
        Eviction is. One that a disruption budget does not allow yet is not retried.
        """
        plain = self._plain(obj, subresource)
        request = self._request("POST", plain).resource(self.resource.plural)
        if subresource:
            request.name(name).subresource(*subresource.split("/"))
        if subresource == "eviction":
            request.max_retries(0)  # its 429 does not say that the server is busy
        self._write_options(request, field_manager, dry_run, field_validation)
        request.body(encode_plain(plain))
        created: T
        if subresource or self.resource.kind == "Binding":
            created = request.decoded(self._codec.decode_created_part, stop)
            return created
        metadata = plain.get("metadata") or {}
        # A review has no name, nor has its answer. An aggregated API may answer with another kind,
        # which only unstructured objects can stand for.
        created = request.decoded(
            lambda raw: self._codec.decode_answer(
                raw,
                named=bool(metadata.get("name") or metadata.get("generateName")),
                any_kind=self._codec.type is Unstructured,
            ),
            stop,
        )
        return created

    def update(
        self,
        obj: T | Unstructured | Mapping[str, Any] | KubernetesModel,
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Replace an object; its ``resourceVersion`` must be the stored one, or be absent.

        ``name`` is needed only for a subresource whose body does not carry it.
        """
        plain = self._plain(obj, subresource)
        name = name or (plain.get("metadata") or {}).get("name", "")
        request = self._for_object("PUT", name, subresource, plain)
        self._write_options(request, field_manager, dry_run, field_validation)
        return self._decoded(request.body(encode_plain(plain)), subresource, stop)

    def update_status(
        self,
        obj: T | Unstructured | Mapping[str, Any] | KubernetesModel,
        *,
        field_manager: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Replace an object's status; everything else in ``obj`` is ignored by the server."""
        return self.update(
            obj, subresource="status", field_manager=field_manager, dry_run=dry_run, stop=stop
        )

    def patch(
        self,
        name: str,
        patch: Mapping[str, Any] | Sequence[Any] | KubernetesModel | bytes,
        kind: PatchKind = PatchKind.MERGE,
        *,
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Change an object by a patch, given as JSON values or ready-made bytes.

        Raises :class:`~clientgo.rest.RequestError` for a list that is not said to be a JSON patch,
        and for a JSON patch that is no list.
        """
        if not isinstance(patch, bytes):
            is_list = isinstance(patch, Sequence) and not isinstance(patch, str)
            if is_list and kind != PatchKind.JSON:
                raise RequestError("a list of operations is a JSON patch: pass PatchKind.JSON")
            if not is_list and kind == PatchKind.JSON:
                raise RequestError("a JSON patch is a list of operations")
        request = self._for_object("PATCH", name, subresource)
        self._write_options(request, field_manager, dry_run, field_validation)
        body = patch if isinstance(patch, bytes) else encode_plain(patch)
        return self._decoded(request.body(body, kind), subresource, stop)

    def apply(
        self,
        obj: T | Unstructured | Mapping[str, Any] | KubernetesModel,
        *,
        field_manager: str = "",
        force: bool = False,
        subresource: str = "",
        field_validation: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Make the fields of ``obj`` so, and this manager their owner (server-side apply).

        The object is created if need be. ``force`` takes fields over from other managers, which
        is a conflict otherwise. ``obj`` should say only what the manager wants; one that was read
        from the server, with ``managedFields``, is refused.
        """
        plain = self._plain(obj, subresource)
        metadata = plain.get("metadata") or {}
        if metadata.get("managedFields"):
            raise RequestError(
                "an object with managedFields cannot be applied; build one that says only what "
                "this manager wants"
            )
        manager = field_manager or self.field_manager
        if not manager:
            raise RequestError("apply needs a field_manager; name who wants these fields")
        request = self._for_object("PATCH", metadata.get("name", ""), subresource, plain)
        self._write_options(request, manager, dry_run, field_validation)
        request.query("force", "true" if force else "false")
        request.body(encode_plain(plain), PatchKind.APPLY)
        return self._decoded(request, subresource, stop)

    def apply_status(
        self,
        obj: T | Unstructured | Mapping[str, Any] | KubernetesModel,
        *,
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> T:
        """Server-side apply of an object's status."""
        return self.apply(
            obj,
            field_manager=field_manager,
            force=force,
            subresource="status",
            dry_run=dry_run,
            stop=stop,
        )

    def delete(
        self,
        name: str,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> str:
        """Delete an object; one with finalizers is gone only when those are done.

        Returns the resource version as of which it is gone, or marked; empty if the answer does
        not say that, as of an object that is gone before Kubernetes 1.37.

        ``propagation_policy`` is ``Background``, ``Foreground`` or ``Orphan``. With ``uid`` or
        ``resource_version`` only that very object, or that version of it, is deleted; otherwise
        it is a conflict.
        """
        request = self._for_object("DELETE", name, "")
        options = _delete_options(
            grace_period_seconds, propagation_policy, uid, resource_version, dry_run
        )
        version: str = request.body(msgspec.json.encode(options)).decoded(check_deletion, stop)
        return version

    def delete_collection(
        self,
        options: ListOptions | None = None,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> ObjectList[T] | None:
        """Delete all objects that a list with these options would return.

        Returns them as they were, including those with finalizers, which are still there; None if
        the answer does not contain them, as that of an aggregated API may not.
        """
        request = self._for_collection("DELETE", options)
        body = _delete_options(grace_period_seconds, propagation_policy, "", "", dry_run)
        deleted: ObjectList[T] | None = request.body(msgspec.json.encode(body)).decoded(
            self._deleted_objects, stop
        )
        return deleted

    def _deleted_objects(self, raw: bytes) -> ObjectList[T] | None:
        check_deletion(raw)
        try:
            return self._codec.decode_list(raw)
        except (DecodeError, StatusError):
            return None  # a Status of success, for example, or a List of other things

    def _request(self, method: str, plain: Mapping[str, Any] | None = None) -> Request:
        """A request in this client's namespace, or else in that of the object it is about."""
        request = self._rest.request(method)
        if self._accept:
            request.header("Accept", self._accept)
        if self.resource.namespaced:
            own = ((plain or {}).get("metadata") or {}).get("namespace") or ""
            request.namespace(self._namespace or own)
        return request

    def _for_collection(self, method: str, options: ListOptions | None) -> Request:
        request = self._request(method).resource(self.resource.plural)
        if options is not None:
            if not isinstance(options, ListOptions):
                raise TypeError(f"pass ListOptions(label_selector=...), not {options!r}")
            request.queries(options.as_query())
            if options.timeout_seconds:
                request.timeout(options.timeout_seconds)
        return request

    def _for_object(
        self, method: str, name: str, subresource: str, plain: Mapping[str, Any] | None = None
    ) -> Request:
        request = self._request(method, plain).resource(self.resource.plural).name(name)
        if subresource:
            request.subresource(*subresource.split("/"))
        return request

    def _plain(
        self, obj: T | Unstructured | Mapping[str, Any] | KubernetesModel, subresource: str
    ) -> dict[str, Any]:
        """The object as JSON values, told what it is where it does not say so itself."""
        plain = to_plain(obj)
        metadata = plain.get("metadata")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise RequestError(f"metadata must be an object, not {metadata!r:.100}")
        if not subresource:
            plain["apiVersion"] = plain.get("apiVersion") or self.resource.api_version
            plain["kind"] = plain.get("kind") or self.resource.kind
        return plain

    def _write_options(
        self, request: Request, field_manager: str, dry_run: bool, field_validation: str
    ) -> None:
        if field_validation:
            request.query("fieldValidation", field_validation)
        if manager := field_manager or self.field_manager:
            request.query("fieldManager", manager)
        if dry_run:
            request.query("dryRun", "All")

    def _decoded(self, request: Request, subresource: str, stop: threading.Event | None) -> T:
        # What another part of an object than its status is, is not declared.
        is_part = subresource not in ("", "status")
        obj: T = request.decoded(
            lambda raw: self._codec.decode_answer(raw, named=not is_part, any_kind=is_part), stop
        )
        return obj


def _delete_options(
    grace_period_seconds: int | None,
    propagation_policy: str,
    uid: str,
    resource_version: str,
    dry_run: bool,
) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if propagation_policy:
        options["propagationPolicy"] = propagation_policy
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if any(preconditions.values()):
        options["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if dry_run:
        options["dryRun"] = ["All"]
    return options
