"""Requests that are passed on to a port of a pod: ``pods/proxy``.

Promises: the program of the pod's port gets the request as HTTP/1.1, and its response is the
answer. Without a port in the name of the pod, it is the first that a container declares.

Does not promise upgrades to other protocols, or responses that have no end.

Upstream: ``pkg/registry/core/pod/rest`` (``ProxyREST``), apimachinery ``util/proxy``.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from clientgo.testcluster.server.containers.programs import PodConnection
from clientgo.testcluster.server.http.messages import AnyResponse, Request, Response
from clientgo.testcluster.server.requests.subresources.pod_streams import on_thread
from clientgo.testcluster.server.requests.verbs import VerbCall, existing
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request
from clientgo.testcluster.server.storage.storage import Object

PROXIED_NAME: Final = re.compile(r"(?:https?:)?([^:]+)(?::([^:]*))?")
"""The name of a pod, service or node to which requests are passed: ``[scheme:]name[:port]``."""

_OF_CONNECTIONS: Final = frozenset(
    {
        *("connection", "content-length", "keep-alive", "proxy-authenticate", "te", "trailer"),
        *("proxy-authorization", "transfer-encoding", "upgrade"),
    }
)
"""Headers that are not passed on."""
_FOR_THE_SERVER: Final = frozenset({"accept-encoding", "authorization", "host"})


_END_OF_HEADERS: Final = b"\r\n\r\n"


async def pass_to_pod(call: VerbCall) -> AnyResponse:
    """Pass a request to a port of a pod, and its response back.

    Raises:
        FailedRequestError: 400, the pod has no node or no such port; 404; 501, there is no program;
            503, the port does not answer.
    """
    name, port = PROXIED_NAME.fullmatch(call.name), ""
    if name is not None:
        call, port = replace(call, name=name[1]), name[2] or ""
    pod = call.resource.decode(await existing(call))
    program = call.state.pod_programs.port
    if program is None:
        message = "proxy is not available: the embedded API server runs no pods"
        raise FailedRequestError(501, "NotImplemented", message)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {call.name} does not have a host assigned")
    path = call.subresource.removeprefix("proxy")
    if not path and not call.request.path.endswith("/"):
        return _redirect(call.request)
    answer = _Answer(call.request.method)
    connection = PodConnection(pod, answer, 0, _port_of(pod, port))
    await connection.put(_message(call.request, path or "/", pod, connection.port))
    running = asyncio.create_task(on_thread(program, connection))
    whole = asyncio.create_task(answer.whole.wait())
    try:
        await asyncio.wait({running, whole}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.whole.is_set():
            running.result()
        return answer.response()
    except (http.client.HTTPException, OSError) as error:
        why = f"error trying to reach service: {error or 'EOF'}"
        raise FailedRequestError(503, "ServiceUnavailable", why) from error
    finally:
        whole.cancel()
        connection.end()
        running.add_done_callback(_forget)


def _forget(task: asyncio.Task[Any]) -> None:
    """Take the result of a program whose response has been sent, or has failed."""
    if not task.cancelled():
        task.exception()


def _port_of(pod: Object, port: str) -> int:
    if not port:
        declared = [
            each["containerPort"]
            for container in pod["spec"]["containers"]
            for each in container.get("ports") or ()
        ]
        return declared[0] if declared else 80
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise bad_request(f"invalid port {port!r}: it must be a number")
    return int(port)


def _redirect(request: Request) -> Response:
    """Send clients to the path with a slash, so that relative links work."""
    query = urlencode(request.query, doseq=True)
    location = quote(request.path) + "/" + (f"?{query}" if query else "")
    return Response(301, b"", headers=[("location", location)])


def _message(request: Request, path: str, pod: Object, port: int) -> bytes:
    """Return the request as the program reads it."""
    query = urlencode(request.query, doseq=True)
    target = quote(path) + (f"?{query}" if query else "")
    address = pod.get("status", {}).get("podIP") or pod["metadata"]["name"]
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in _OF_CONNECTIONS and name not in _FOR_THE_SERVER
    }
    if request.body:
        headers["content-length"] = str(len(request.body))
    lines = [
        f"{request.method} {target} HTTP/1.1",
        f"host: {address}:{port}",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + request.body


class _Answer:
    """Collects what a program writes, until the response is whole."""

    def __init__(self, method: str) -> None:
        self.whole = asyncio.Event()
        self._method = method
        self._data = bytearray()
        self._size: int | None = None
        """Bytes of the whole response, once its headers say that."""

    async def send(self, channel: int, data: bytes) -> None:
        """Add what the program has written."""
        self._data += data
        if self._size is None:
            self._read_size()
        if self._size is not None and len(self._data) >= self._size:
            self.whole.set()

    def drop(self) -> None:
        """Do nothing: the program ends, and so does the response."""

    def _read_size(self) -> None:
        """Read the length in the headers; without one, the response ends with the program."""
        head = self._data.find(_END_OF_HEADERS)
        if head < 0:
            return
        with contextlib.suppress(http.client.HTTPException):  # found again by `response`
            length = self._parsed().length
            if length is not None:
                self._size = head + len(_END_OF_HEADERS) + length

    def _parsed(self) -> http.client.HTTPResponse:
        source: Any = _Socket(bytes(self._data))
        response = http.client.HTTPResponse(source, method=self._method)
        response.begin()
        return response

    def response(self) -> Response:
        """Return the response of the program.

        Raises:
            HTTPException: it is none, or not whole.
        """
        parsed = self._parsed()
        body = parsed.read()
        headers = list(_kept(parsed))
        return Response(parsed.status, body, parsed.headers.get("content-type", ""), headers)


def _kept(response: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    for name, value in response.headers.items():
        if name.lower() not in _OF_CONNECTIONS and name.lower() not in ("content-type", "date"):
            yield name.lower(), value


class _Socket:
    """What the parser of responses reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        """Return the data as a file."""
        return io.BytesIO(self._data)
