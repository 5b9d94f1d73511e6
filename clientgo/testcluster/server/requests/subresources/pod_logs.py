"""The logs of pods: text that something beside the server provides, as no container runs here.

Upstream: ``pkg/registry/core/pod/strategy.go``, ``LogLocation``.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.http.messages import (
    NO_CONTENT,
    TEXT,
    AnyResponse,
    Response,
    text_response,
)
from clientgo.testcluster.server.requests.options import parse_integer
from clientgo.testcluster.server.requests.verbs import VerbCall, existing
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request, invalid
from clientgo.testcluster.server.resources.resource_type import ResourceType

_OPTIONS = ResourceType("", "v1", "PodLogOptions", "podlogoptions")
"""As refusals name them."""

_LEAST = {
    "tailLines": (0, "must be greater than or equal to 0"),
    "limitBytes": (1, "must be greater than 0"),
    "sinceSeconds": (1, "must be greater than 0"),
}
"""The least value of an option, and what is said of a smaller one."""


async def read_log(call: VerbCall) -> AnyResponse:
    """Answer what a container has written; nothing (204) before its pod has a node.

    Raises:
        FailedRequestError: 404 if there is no such pod, 400 for a container that is not there or
            does not run yet, 422 for options that are not valid, 501 if nothing provides logs.
    """
    options = _options(call)
    pod = call.resource.decode(await existing(call))
    container = _container(pod, call.request.parameter("container"))
    if not pod["spec"].get("nodeName"):
        return Response(NO_CONTENT, b"", TEXT)
    if call.state.pod_logs is None:
        message = "log is not available: the embedded API server runs no pods"
        raise FailedRequestError(501, "NotImplemented", message)
    _check_started(pod, container)
    lines = call.state.pod_logs(pod, container).splitlines(keepends=True)
    tail = options.get("tailLines", len(lines))
    text = "".join(lines[max(0, len(lines) - tail) :]).encode()
    return text_response(text[: options.get("limitBytes")].decode(errors="ignore"))


def _options(call: VerbCall) -> dict[str, int]:
    """Return the numbers among the options of a request for a log.

    Raises:
        FailedRequestError: 400, one is no number; 422, one is too small, or two exclude each other.
    """
    request = call.request
    options = {
        name: parse_integer(request.parameter(name)) for name in _LEAST if name in request.query
    }
    errors = [
        FieldError.invalid(name, value, _LEAST[name][1])
        for name, value in options.items()
        if value < _LEAST[name][0]
    ]
    if "sinceSeconds" in options and "sinceTime" in request.query:
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors = [error for error in errors if error.field != "sinceSeconds"]
        errors.append(FieldError.forbidden("", why))
    if errors:
        raise invalid(_OPTIONS, call.name, errors)
    return options


def _container(pod: dict[str, Any], wanted: str) -> str:
    spec = pod["spec"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [each["name"] for kind in kinds for each in spec.get(kind) or ()]
    name: str = pod["metadata"]["name"]
    if wanted:
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(spec["containers"]) > 1:
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        )
    return str(spec["containers"][0]["name"])


def _check_started(pod: dict[str, Any], container: str) -> None:
    status = pod.get("status", {})
    statuses = status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
    for each in statuses:
        waiting = each.get("state", {}).get("waiting")
        if each["name"] == container and waiting and not each.get("lastState"):
            raise bad_request(
                f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start: '
                f"{waiting.get('reason', '')}"
            )
