"""The logs of pods: text that something beside the server provides, as no container runs here.

Upstream: ``pkg/registry/core/pod/strategy.go``, ``LogLocation``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from clientgo.meta.timestamps import format_micro_time, parse_time
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.containers.written_logs import LogLine, WrittenLog, microseconds
from clientgo.testcluster.server.http.messages import (
    NO_CONTENT,
    TEXT,
    AnyResponse,
    Receive,
    Response,
    Send,
    head,
)
from clientgo.testcluster.server.requests.options import parse_integer
from clientgo.testcluster.server.requests.verbs import VerbCall, existing
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request, invalid
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.storage import object_key

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
    container = container_of(pod, call.request.parameter("container"))
    if not pod["spec"].get("nodeName"):
        return Response(NO_CONTENT, b"", TEXT)
    if call.state.pod_logs is None:
        message = "log is not available: the embedded API server runs no pods"
        raise FailedRequestError(501, "NotImplemented", message)
    _check_started(pod, container)
    metadata = pod["metadata"]
    started = parse_time(pod.get("status", {}).get("startTime") or metadata["creationTimestamp"])
    log = call.state.written_logs.of(metadata["uid"], container)
    provided = call.state.pod_logs(pod, container).splitlines(keepends=True)
    begin = microseconds(started)
    lines = [LogLine(begin + place, line) for place, line in enumerate(provided)]
    lines += log.lines
    since = microseconds(_since(call, options))
    lines = [line for line in lines if line.time >= since]
    tail = options.get("tailLines", len(lines))
    shown = _Shown(call.request.flag("timestamps"), options.get("limitBytes"))
    text = shown.bytes_of(lines[max(0, len(lines) - tail) :])
    if call.request.flag("follow"):
        return _FollowedLog(call, metadata["uid"], container, log, text, shown)
    return Response(200, text, TEXT)


def _since(call: VerbCall, options: Mapping[str, int]) -> float:
    if "sinceSeconds" in options:
        return call.state.now() - options["sinceSeconds"]
    text = call.request.parameter("sinceTime")
    try:
        return parse_time(text) if text else 0.0
    except ValueError as error:
        raise bad_request(f"sinceTime: {error}") from error


class _Shown:
    """Turns lines into bytes, up to a limit for all of them."""

    def __init__(self, timestamps: bool, limit: int | None) -> None:
        self._timestamps = timestamps
        self._left = limit

    def bytes_of(self, lines: Iterable[LogLine]) -> bytes:
        """Return what is shown of lines; empty after the limit."""
        whole = "".join(
            f"{format_micro_time(line.time / 1e6)} {line.text}" if self._timestamps else line.text
            for line in lines
        ).encode()
        if self._left is None or len(whole) <= self._left:
            self._left = None if self._left is None else self._left - len(whole)
            return whole
        cut = whole[: self._left].decode(errors="ignore").encode()
        self._left = 0
        return cut

    @property
    def is_full(self) -> bool:
        """Return True after the limit."""
        return self._left == 0


class _FollowedLog:
    """A log that grows until its container, or the client, ends. On the event loop."""

    def __init__(
        self,
        call: VerbCall,
        uid: str,
        container: str,
        log: WrittenLog,
        begin: bytes,
        shown: _Shown,
    ) -> None:
        self.headers: list[tuple[str, str]] = []
        self.resource = call.resource
        self._watches = call.state.watches
        self._collection = call.state.storage.collection(call.resource.collection_key)
        self._key = object_key(call.namespace, call.name)
        self._uid = uid
        self._container = container
        self._log = log
        self._position = log.count
        self._begin = begin
        self._shown = shown
        self._ending = False
        self._wakeup = asyncio.Event()

    @property
    def position(self) -> int:
        """Return the end of the history: this reads none of it."""
        return self._collection.log_end

    def wake(self) -> None:
        """Look again: a pod has changed, or there are lines."""
        self._wakeup.set()

    def drop(self) -> None:
        """End, as watches do."""
        self.end()

    def end(self) -> None:
        """End the stream cleanly."""
        self._ending = True
        self._wakeup.set()

    async def send(self, send: Send, receive: Receive) -> None:
        """Write lines as they come."""
        listening = asyncio.create_task(self._end_on_disconnect(receive))
        self._collection.watchers.add(self)
        self._watches.add(self)
        self._log.followers.add(self.wake)
        try:
            headers = head(TEXT, self.headers)
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            text = self._begin
            while True:
                self._wakeup.clear()
                # The head goes out at once, even if nothing was written yet.
                await send({"type": "http.response.body", "body": text, "more_body": True})
                text = self._new_text()
                if not text and (self._ending or self._shown.is_full or not self._runs()):
                    break
                if not text:
                    await self._wakeup.wait()
            await send({"type": "http.response.body", "body": b""})
        finally:
            listening.cancel()
            self._log.followers.discard(self.wake)
            self._watches.discard(self)
            self._collection.watchers.discard(self)

    def _new_text(self) -> bytes:
        lines = list(self._log.since(self._position))
        self._position = self._log.count
        return self._shown.bytes_of(lines)

    def _runs(self) -> bool:
        stored = self._collection.get(self._key)
        if stored is None or stored.uid != self._uid:
            return False
        statuses = stored.decode().get("status", {}).get("containerStatuses", [])
        return not any(
            each["name"] == self._container and "terminated" in each.get("state", {})
            for each in statuses
        )

    async def _end_on_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()


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


def container_of(pod: dict[str, Any], wanted: str) -> str:
    """Return the name of the container that is asked for, or of the only one.

    Raises:
        FailedRequestError: 400, there is none of that name, or none is named and there are several.
    """
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
