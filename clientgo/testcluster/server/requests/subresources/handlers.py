"""The handlers of subresources.

Promises ``status``, ``scale``, ``finalize``, ``token``, ``binding`` and ``eviction``. Those of a
running pod (``log``, ``exec``, ``proxy`` ...) are answered if something beside the server provides
programs; ``proxy`` of services and nodes is refused.

Upstream: the ``rest`` storages of each resource and of custom resources.
"""

from __future__ import annotations

from msgspec.structs import replace

from clientgo.testcluster.server.http.messages import AnyResponse, value_response
from clientgo.testcluster.server.objects.options import WriteOptions
from clientgo.testcluster.server.requests.options import write_options
from clientgo.testcluster.server.requests.request_info import RequestInfo
from clientgo.testcluster.server.requests.subresources.account_tokens import create_token
from clientgo.testcluster.server.requests.subresources.eviction import evict
from clientgo.testcluster.server.requests.subresources.pod_logs import read_log
from clientgo.testcluster.server.requests.subresources.pod_proxy import (
    PROXIED_NAME,
    pass_to_pod,
)
from clientgo.testcluster.server.requests.subresources.pod_streams import (
    forward_ports,
    run_command,
)
from clientgo.testcluster.server.requests.subresources.scale import (
    get_scale,
    patch_scale,
    update_scale,
)
from clientgo.testcluster.server.requests.verbs import (
    OBJECT_VERBS,
    Verb,
    VerbCall,
    existing,
    read_body_as,
)
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    conflict,
    internal,
    method_not_allowed,
    method_not_supported,
    not_found,
    resource_not_found,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

_METHODS = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}


def subresource_verb(resource: Resource, info: RequestInfo, method: str) -> Verb:
    """Return the handler for a method on a subresource.

    Raises:
        FailedRequestError: 404 for an unknown subresource, 405 for an unsupported verb.
    """
    name, _, below = info.subresource.partition("/")
    subresource = resource.subresource(name if name == "proxy" or not below else "")
    if subresource is None:
        raise not_found(resource, info.name) if resource.is_custom else resource_not_found()
    verb = (_PROXIED if name == "proxy" else _METHODS).get(method, "")
    if verb not in subresource.verbs:
        raise method_not_supported(resource, verb) if resource.is_custom else method_not_allowed()
    own = _HANDLERS.get((subresource.name, verb))
    return own or OBJECT_VERBS[method][1]


_PROXIED = {**_METHODS, "HEAD": "get", "OPTIONS": "get"}
"""A proxy passes on every method."""


async def create_binding(call: VerbCall) -> AnyResponse:
    """Assign the pod of a binding's name to a node."""
    options = write_options(call.request, "CreateOptions")
    binding = await read_body_as(call, call.resource, options)
    pod = binding["metadata"].get("name", "")
    return await _assign(replace(call, resource=_core(call, "pods"), name=pod), binding, options)


async def _bind(call: VerbCall) -> AnyResponse:
    """Assign a pod to a node, as schedulers do."""
    options = write_options(call.request, "CreateOptions")
    binding = await read_body_as(call, _core(call, "bindings"), options)
    if binding["metadata"].get("name") != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    return await _assign(call, binding, options)


def _core(call: VerbCall, plural: str) -> Resource:
    resource = call.state.registry.find("", "v1", plural)
    if resource is None:
        raise LookupError(f"{plural} are not built in")
    return resource


async def _assign(call: VerbCall, binding: Object, options: WriteOptions) -> AnyResponse:
    target = binding.get("target") or {}
    node, kind = target.get("name"), target.get("kind")
    if not node:
        raise internal("target.name: Required value")
    if kind and kind != "Node":
        raise internal(f'target.kind: Unsupported value: "{kind}": supported values: "Node"')
    if not call.name:
        raise bad_request("Name parameter required.")

    def assigned(pod: Object) -> Object:
        if pod["metadata"].get("deletionTimestamp"):
            why = f"pod {call.name} is being deleted, cannot be assigned to a host"
            raise conflict(call.resource, call.name, why)
        if pod["spec"].get("schedulingGates"):
            why = f"pod {call.name} has non-empty .spec.schedulingGates"
            raise conflict(call.resource, call.name, why)
        if current := pod["spec"].get("nodeName"):
            raise conflict(call.resource, call.name, f"the pod is already assigned to {current}")
        pod["spec"]["nodeName"] = node
        conditions = pod["status"].get("conditions", [])
        others = [item for item in conditions if item["type"] != "PodScheduled"]
        pod["status"]["conditions"] = [*others, scheduled]
        return pod

    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": call.state.timestamp(),
    }

    await call.writer.update(call.target, assigned, options, "binding")
    return value_response(_SUCCESS, call.representation.media_type, 201)


async def _proxy(call: VerbCall) -> AnyResponse:
    """Pass requests to pods; refuse those to services and nodes, which have no address here."""
    if call.resource.plural == "pods":
        return await pass_to_pod(call)
    if found := PROXIED_NAME.fullmatch(call.name):
        call = replace(call, name=found[1])
    await existing(call)
    message = "proxy is not available: the embedded API server runs no pods"
    raise FailedRequestError(501, "NotImplemented", message)


_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

_CONNECT = ("get", "create")

_HANDLERS: dict[tuple[str, str], Verb] = {
    ("scale", "get"): get_scale,
    ("scale", "update"): update_scale,
    ("scale", "patch"): patch_scale,
    ("token", "create"): create_token,
    ("binding", "create"): _bind,
    ("eviction", "create"): evict,
    ("log", "get"): read_log,
    **{(name, verb): run_command for name in ("attach", "exec") for verb in _CONNECT},
    **{("portforward", verb): forward_ports for verb in _CONNECT},
    **{("proxy", verb): _proxy for verb in _METHODS.values()},
}

CREATED_BELOW: tuple[Verb, ...] = (create_token, _bind, evict)
"""Handlers of what clients create below an object, and the server does not store."""
