"""The ``scale`` subresource: the number of replicas of any kind of object.

Promises: a Scale is a view of its object; writing it changes only the replicas, under the object's
optimistic locking.

Upstream: ``autoscaling/v1 Scale``, and the ``ScaleREST`` of each workload and of custom resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientgo.apiserver.http.bodies import decode_object
from clientgo.apiserver.http.messages import AnyResponse, value_response
from clientgo.apiserver.requests.options import write_options
from clientgo.apiserver.requests.patching import is_apply, read_patch
from clientgo.apiserver.requests.verbs import VerbCall, existing
from clientgo.apiserver.resources.errors import (
    RequestError,
    bad_request,
    internal,
    internal_error,
    invalid_patch,
    not_found,
)
from clientgo.apiserver.resources.nested_fields import NestedFieldError, nested_field
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.schema.field_errors import FieldError

_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


async def get_scale(call: VerbCall) -> AnyResponse:
    """Answer the scale of an object."""
    fields, obj = _fields(call), call.resource.decode(await existing(call))
    scale = _scale_of(call, obj, fields)
    if call.resource.is_custom and _find(obj, fields.spec_replicas) is None:
        path = ".".join(fields.spec_replicas)
        raise internal_error(f'the spec replicas field ".{path}" does not exist')
    return value_response(scale, call.representation.media_type)


async def update_scale(call: VerbCall) -> AnyResponse:
    """Replace the scale of an object."""
    wanted, _ = await call.read_body(lambda: decode_object(call.request, "Scale"))
    try:
        _replicas_of(wanted)
    except ValueError as error:
        message = f'Scale in version "v1" cannot be handled as a Scale: {error}'
        raise bad_request(message) from error
    return await _write(call, "UpdateOptions", lambda _: wanted)


async def patch_scale(call: VerbCall) -> AnyResponse:
    """Patch the scale of an object.

    Raises:
        RequestError: 500 for server-side apply to a custom resource, as on a real server.
    """
    if call.resource.is_custom and is_apply(call.request):
        problem = "request to convert CR to an invalid group/version: autoscaling/v1"
        raise internal(f"failed to convert new object to proper version: {problem}")
    patcher = (await call.read_body(lambda: read_patch(call.request, call.resource))).apply

    def patch(scale: Object) -> Object:
        was_unset = "replicas" not in scale["spec"]
        patched = patcher(scale)
        try:
            replicas = _replicas_of(patched)
        except ValueError as error:
            raise invalid_patch(str(error)) from error
        if was_unset and replicas is None and call.resource.is_custom:
            path = ".".join(_fields(call).spec_replicas)
            raise bad_request(f'the spec replicas field ".{path}" cannot be empty')
        return patched

    return await _write(call, "PatchOptions", patch)


async def _write(
    call: VerbCall, options_kind: str, change: Callable[[Object], Object]
) -> AnyResponse:
    fields = _fields(call)

    def scaled(obj: Object) -> Object:
        shown = _scale_of(call, obj, fields)
        if (current := _find(obj, fields.spec_replicas)) is not None:
            shown["spec"] = {"replicas": current}  # 0 is left out of responses only
        scale = change(shown)
        version = scale.get("metadata", {}).get("resourceVersion")
        if version:
            obj["metadata"]["resourceVersion"] = version
        replicas = _replicas_of(scale) or 0
        if not call.resource.is_custom:
            _check_replicas(call, replicas)
        _set(obj, fields.spec_replicas, replicas)
        return obj

    options = write_options(call.request, options_kind)
    outcome = await call.writer.update(call.target, scaled, options, "scale")
    [served] = await call.resource.served([outcome.stored])
    scale = _scale_of(call, call.resource.decode(served), fields)
    return value_response(scale, call.representation.media_type)


def _replicas_of(scale: Object) -> int | None:
    """Return the number of replicas in a Scale; None if there is none.

    Raises:
        ValueError: it is no integer of 32 bits.
    """
    spec = scale.get("spec") or {}
    replicas = spec.get("replicas") if isinstance(spec, dict) else spec
    if replicas is None:
        return None
    if type(replicas) is not int or not -(2**31) <= replicas < 2**31:
        raise ValueError(
            f"json: cannot unmarshal {replicas!r} into Go struct field ScaleSpec.spec.replicas of "
            "type int32"
        )
    return replicas


def _check_replicas(call: VerbCall, replicas: int) -> None:
    if replicas >= 0:
        return
    error = FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    details = {
        "name": call.name,
        "group": "autoscaling",
        "kind": "Scale",
        "causes": [error.as_cause()],
    }
    message = f'Scale.autoscaling "{call.name}" is invalid: {error}'
    raise RequestError(422, "Invalid", message, details)


def _scale_of(call: VerbCall, obj: Object, fields: ScaleFields) -> Object:
    """Return the Scale of an object.

    Raises:
        RequestError: 500, the fields of a custom resource have the wrong types.
    """
    if call.resource.is_custom:
        try:
            for names in (fields.spec_replicas, fields.status_replicas):
                nested_field(obj, names, int)
            if fields.selector:
                nested_field(obj, fields.selector, str)
        except NestedFieldError as error:
            raise internal(str(error)) from error
    metadata = obj["metadata"]
    status: Object = {"replicas": _find(obj, fields.status_replicas) or 0}
    if selector := _selector_text(_find(obj, fields.selector)):
        status["selector"] = selector
    replicas = _find(obj, fields.spec_replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector_text(selector: Any) -> str:
    """Return a selector as text, from text, a selector object or a map of labels.

    Raises:
        RequestError: 400, it is no selector.
    """
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, Mapping):
        return ""
    if not selector.keys() & {"matchLabels", "matchExpressions"}:
        selector = {"matchLabels": selector}
    try:
        return str(selector_from_object(selector))
    except (SelectorError, TypeError, AttributeError) as error:
        raise bad_request(f"the selector for scaling can't be read: {error}") from error


def _fields(call: VerbCall) -> ScaleFields:
    fields = call.resource.strategy.scale_fields
    if fields is None:
        raise not_found(call.resource, call.name)
    return fields


def _find(obj: Object, names: tuple[str, ...]) -> Any:
    value: Any = obj if names else None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _set(obj: Object, names: tuple[str, ...], value: Any) -> None:
    *parents, last = names
    for name in parents:
        obj = obj.setdefault(name, {})
    obj[last] = value
