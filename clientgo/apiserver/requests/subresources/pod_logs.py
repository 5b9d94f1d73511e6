"""The logs of pods: text that something beside the server provides, as no container runs here.

Upstream: ``pkg/registry/core/pod/strategy.go``, ``LogLocation``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.http.messages import AnyResponse, text_response
from clientgo.apiserver.requests.verbs import VerbCall, existing
from clientgo.apiserver.resources.errors import RequestError, bad_request


async def read_log(call: VerbCall) -> AnyResponse:
    """Answer what a container has written.

    Raises:
        RequestError: 404 if there is no such pod, 400 for a container that is not there or does
            not run yet, 501 if nothing provides logs.
    """
    pod = call.resource.decode(await existing(call))
    container = _container(pod, call.request.parameter("container"))
    if call.state.pod_logs is None:
        message = "log is not available: the embedded API server runs no pods"
        raise RequestError(501, "NotImplemented", message)
    _check_started(pod, container)
    lines = call.state.pod_logs(pod, container).splitlines(keepends=True)
    tail = call.request.parameter("tailLines")
    if tail.isdecimal():
        lines = lines[len(lines) - int(tail) :] if int(tail) < len(lines) else lines
    text = "".join(lines)
    limit = call.request.parameter("limitBytes")
    if limit.isdecimal():
        text = text.encode()[: int(limit)].decode(errors="ignore")
    return text_response(text)


def _container(pod: dict[str, Any], wanted: str) -> str:
    names = [each["name"] for each in pod["spec"]["containers"]]
    others = [each["name"] for each in pod["spec"].get("initContainers", ())]
    name: str = pod["metadata"]["name"]
    if wanted in names or wanted in others:
        return wanted
    if wanted:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    if len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: "
            f"[{' '.join(names)}]"
            + (f" or one of the init containers: [{' '.join(others)}]" if others else "")
        )
    return str(names[0])


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
