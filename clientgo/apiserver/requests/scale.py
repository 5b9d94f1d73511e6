"""The ``scale`` subresource: the number of replicas of any kind of object.

Promises: a Scale is a view of its object; writing it changes only the replicas, under the object's
optimistic locking.

Upstream: ``autoscaling/v1 Scale``, and the ``ScaleREST`` of each workload and of custom resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientgo.apiserver.http.bodies import decode_object
from clientgo.apiserver.http.messages import AnyResponse, json_response
from clientgo.apiserver.requests.options import write_options
from clientgo.apiserver.requests.patching import make_patcher
from clientgo.apiserver.requests.verbs import VerbCall, existing
from clientgo.apiserver.resources.errors import RequestError, bad_request, not_found
from clientgo.apiserver.resources.strategy import ScaleFields
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.schema.field_errors import FieldError

_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


async def get_scale(call: VerbCall) -> AnyResponse:
    """Answer the scale of an object."""
    return json_response(scale_of(call.resource.decode(existing(call)), _fields(call)))


async def update_scale(call: VerbCall) -> AnyResponse:
    """Replace the scale of an object."""
    wanted, _ = decode_object(call.request, "Scale")
    return await _write(call, "UpdateOptions", lambda _: wanted)


async def patch_scale(call: VerbCall) -> AnyResponse:
    """Patch the scale of an object."""
    return await _write(call, "PatchOptions", make_patcher(call.request, call.resource))


async def _write(
    call: VerbCall, options_kind: str, change: Callable[[Object], Object]
) -> AnyResponse:
    fields = _fields(call)

    def scaled(obj: Object) -> Object:
        scale = change(scale_of(obj, fields))
        version = scale.get("metadata", {}).get("resourceVersion")
        if version:
            obj["metadata"]["resourceVersion"] = version
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        _check_replicas(call, replicas)
        _set(obj, fields.spec_replicas, replicas)
        return obj

    options = write_options(call.request, options_kind)
    outcome = await call.writer.update(call.target, scaled, options, "scale")
    return json_response(scale_of(call.resource.decode(outcome.stored), fields))


def _check_replicas(call: VerbCall, replicas: Any) -> None:
    if isinstance(replicas, int) and not isinstance(replicas, bool) and replicas >= 0:
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


def scale_of(obj: Object, fields: ScaleFields) -> Object:
    """Return the Scale of an object."""
    metadata = obj["metadata"]
    status: Object = {"replicas": _find(obj, fields.status_replicas) or 0}
    if selector := _selector_text(_find(obj, fields.selector)):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata},
        "spec": {"replicas": _find(obj, fields.spec_replicas) or 0},
        "status": status,
    }


def _selector_text(selector: Any) -> str:
    """Return a selector as text, from text, a selector object or a map of labels.

    Raises:
        RequestError: 400, a custom resource has something else there.
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
