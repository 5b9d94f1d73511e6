"""The ``scale`` subresource: the number of replicas of any kind of object.

Promises: a Scale is a view of its object; writing it changes only the replicas, under the object's
optimistic locking.

Upstream: ``autoscaling/v1 Scale``, and the ``ScaleREST`` of each workload and of custom resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.http.messages import AnyResponse, value_response
from clientgo.testcluster.server.objects.decoding import read_object
from clientgo.testcluster.server.objects.options import WriteOptions
from clientgo.testcluster.server.objects.writer import WriteResult
from clientgo.testcluster.server.requests.options import write_options
from clientgo.testcluster.server.requests.patching import is_apply, read_patch
from clientgo.testcluster.server.requests.verbs import (
    VerbCall,
    apply_configuration,
    check_names,
    existing,
    read_body_as,
    read_configuration,
)
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    internal,
    internal_error,
    invalid_patch,
    not_found,
)
from clientgo.testcluster.server.resources.nested_fields import NestedFieldError, nested_field
from clientgo.testcluster.server.resources.strategy import ScaleFields
from clientgo.testcluster.server.storage.storage import Object

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
    options = write_options(call.request, "UpdateOptions")
    wanted = await read_body_as(call, call.state.registry.bodies["Scale"], options)
    check_names(call, wanted)
    return await _write(call, options, lambda _: wanted)


async def patch_scale(call: VerbCall) -> AnyResponse:
    """Patch the scale of an object.

    Raises:
        FailedRequestError: 500 for server-side apply to a custom resource, as on a real server.
    """
    if is_apply(call.request):
        return await _apply(call)
    options = write_options(call.request, "PatchOptions")
    kind = call.state.registry.bodies["Scale"]
    patch = await call.read_body(lambda: read_patch(call.request, call.resource))

    def change(scale: Object) -> Object:
        was_unset = "replicas" not in scale["spec"]
        patched = patch.apply(scale)
        if patch.is_strategic:
            patched |= {"apiVersion": kind.api_version, "kind": kind.kind}
        try:
            read, warnings = read_object(kind, patched, options.field_validation, patch.duplicates)
        except FailedRequestError as error:
            raise invalid_patch(error.message) from error
        call.warnings[:] = warnings
        replicas = (patched.get("spec") or {}).get("replicas")
        if was_unset and replicas is None and call.resource.is_custom:
            path = ".".join(_fields(call).spec_replicas)
            raise bad_request(f'the spec replicas field ".{path}" cannot be empty')
        return read

    return await _write(call, options, change)


async def _apply(call: VerbCall) -> AnyResponse:
    """Apply the replicas; their owner is that of the same field of the object."""
    if call.resource.is_custom:
        problem = "request to convert CR to an invalid group/version: autoscaling/v1"
        raise internal(f"failed to convert new object to proper version: {problem}")
    options = write_options(call.request, "PatchOptions")
    await existing(call)
    config, duplicates = await read_configuration(call)
    kind = call.state.registry.bodies["Scale"]
    api_version, kind_name = config.get("apiVersion", ""), config.get("kind", "")
    if (api_version, kind_name) != (kind.api_version, kind.kind):
        raise bad_request(f"invalid object type: {api_version}, Kind={kind_name}")
    scale, warnings = read_object(kind, config, options.field_validation, duplicates)
    applied: Object = {
        "apiVersion": call.resource.api_version,
        "kind": call.resource.kind,
        "metadata": scale["metadata"],
    }
    fields = _fields(call)
    if (replicas := scale.get("spec", {}).get("replicas")) is not None:
        _check_replicas(call, replicas)
        _set(applied, fields.spec_replicas, replicas)

    def without_default(merged: Object) -> Object:
        if _find(merged, fields.spec_replicas) is None:  # dropped; a Scale has no default for it
            _set(merged, fields.spec_replicas, 0)
        return merged

    result = await apply_configuration(call, applied, (), options, without_default)
    call.warnings.extend(warnings)
    return await _answer(call, result)


async def _write(
    call: VerbCall, options: WriteOptions, change: Callable[[Object], Object]
) -> AnyResponse:
    fields = _fields(call)

    def scaled(obj: Object) -> Object:
        shown = _scale_of(call, obj, fields)
        if (current := _find(obj, fields.spec_replicas)) is not None:
            shown["spec"] = {"replicas": current}  # 0 is left out of responses only
        scale = change(shown)
        if version := scale["metadata"].get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = version
        replicas = scale.get("spec", {}).get("replicas", 0)
        if not call.resource.is_custom:
            _check_replicas(call, replicas)
        _set(obj, fields.spec_replicas, replicas)
        return obj

    return await _answer(call, await call.writer.update(call.target, scaled, options, "scale"))


async def _answer(call: VerbCall, result: WriteResult) -> AnyResponse:
    call.warnings.extend(result.warnings)
    [served] = await call.resource.served([result.stored])
    scale = _scale_of(call, call.resource.decode(served), _fields(call))
    return value_response(scale, call.representation.media_type)


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
    raise FailedRequestError(422, "Invalid", message, details)


def _scale_of(call: VerbCall, obj: Object, fields: ScaleFields) -> Object:
    """Return the Scale of an object.

    Raises:
        FailedRequestError: 500, the fields of a custom resource have the wrong types.
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
    status: Object = {"replicas": _as_int32(_find(obj, fields.status_replicas) or 0)}
    if selector := _selector_text(_find(obj, fields.selector)):
        status["selector"] = selector
    replicas = _as_int32(_find(obj, fields.spec_replicas) or 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _as_int32(replicas: int) -> int:
    """Return the low 32 bits; a custom resource may have more, and a real server cuts them off."""
    return (replicas + 2**31) % 2**32 - 2**31


def _selector_text(selector: Any) -> str:
    """Return a selector as text, from text, a selector object or a map of labels.

    Raises:
        FailedRequestError: 400, it is no selector.
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
