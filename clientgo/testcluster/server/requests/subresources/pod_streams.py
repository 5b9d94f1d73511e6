"""Streams to pods: ``exec``, ``attach`` and ``portforward`` over a WebSocket.

Promises the subprotocols ``v5.channel.k8s.io`` and ``v4.channel.k8s.io`` of commands, and of ports
the latter or none, as kubelets do. SPDY is refused with 501. A client needs the verb ``create``
beside the ``get`` of its request, as since Kubernetes 1.35.

Upstream: ``pkg/registry/core/pod/rest/subresources.go``, kubelet ``cri/streaming``.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from clientgo.meta.decoding import decode
from clientgo.testcluster.server.auth.authorization.refusals import AccessDeniedError
from clientgo.testcluster.server.containers.programs import (
    PodConnection,
    PodProcess,
    PodStream,
    PortProgram,
    Program,
)
from clientgo.testcluster.server.http.messages import AnyResponse, Receive, Send
from clientgo.testcluster.server.requests.attributes import attributes_of
from clientgo.testcluster.server.requests.subresources.pod_logs import container_of
from clientgo.testcluster.server.requests.verbs import VerbCall, existing
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request, internal
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.process import SupervisedThread

S = TypeVar("S", bound=PodStream)
T = TypeVar("T")

LOG = logging.getLogger("clientgo.testcluster.server")

_V5: Final = "v5.channel.k8s.io"
_V4: Final = "v4.channel.k8s.io"
_STDIN: Final = 0
_STATUS: Final = 3
_RESIZE: Final = 4
_CLOSE: Final = 255


async def run_command(call: VerbCall) -> AnyResponse:
    """Run a program, or attach to one.

    Raises:
        FailedRequestError: 400, the request has no container, command or stream, or is no
            handshake; 403; 404; 501, there is no program, or the client wants SPDY.
    """
    request = call.request
    programs = call.state.pod_programs
    program = programs.exec if call.subresource == "exec" else programs.attach
    pod = await _running_pod(call, served=program is not None)
    container = container_of(pod, request.parameter("container"))
    _check_runs(pod, container)
    if not any(request.flag(name) for name in ("stdin", "stdout", "stderr")):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    command = tuple(request.query.get("command", ()))
    if call.subresource == "exec" and not command:
        raise bad_request("you must specify a command")
    assert program is not None
    return _CommandResponse(call, pod, program, container, command)


async def forward_ports(call: VerbCall) -> AnyResponse:
    """Connect to ports of a pod.

    Raises:
        FailedRequestError: as of ``run_command``.
    """
    program = call.state.pod_programs.port
    pod = await _running_pod(call, served=program is not None)
    texts = [text for value in call.request.query.get("ports", ()) for text in value.split(",")]
    ports = [int(text) for text in texts if text.isdecimal() and 0 < int(text) < 65536]
    if not ports or len(ports) != len(texts):
        raise bad_request(f'query parameter "ports" must be numbers of ports, not {texts}')
    assert program is not None
    return _PortsResponse(call, pod, program, ports)


async def _running_pod(call: VerbCall, *, served: bool) -> Object:
    pod = call.resource.decode(await existing(call))
    name = call.subresource
    if not served:
        message = f"{name} is not available: the embedded API server runs no pods"
        raise FailedRequestError(501, "NotImplemented", message)
    if call.request.headers.get("upgrade", "").lower().startswith("spdy"):
        message = f"{name} over SPDY is not available in the embedded API server; use a WebSocket"
        raise FailedRequestError(501, "NotImplemented", message)
    attributes = msgspec.structs.replace(attributes_of(call.request), verb="create")
    decision = call.state.authorizer.authorize(attributes)
    if not decision.allowed:
        raise AccessDeniedError(attributes, decision.reason)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {call.name} does not have a host assigned")
    return pod


def _check_runs(pod: Object, container: str) -> None:
    for each in pod.get("status", {}).get("containerStatuses", []):
        if each["name"] == container and "running" not in each.get("state", {}):
            raise internal(f'unable to upgrade connection: container not found ("{container}")')


class _StreamResponse(Generic[S]):
    """A response that takes over its connection."""

    def __init__(self, call: VerbCall, pod: Object, protocols: Sequence[str]) -> None:
        # Imported with the first stream: few servers have one.
        from clientgo.testcluster.server.http.channels import Handshake

        self.headers: list[tuple[str, str]] = []
        self._pod = pod
        self._handshake = Handshake(call.request, protocols)

    async def send(self, send: Send, receive: Receive) -> None:
        """Serve the stream until its programs, or the client, end it."""
        self._channels = self._handshake.accept()
        streams = self._open()
        running = asyncio.create_task(self._run_all(streams))
        watching = {
            asyncio.create_task(self._pass_on_arrivals(streams)),
            asyncio.create_task(self._channels.lost()),
        }
        try:
            await asyncio.wait({running, *watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)  # one of them reads, as the close will
            if running.done():
                await self._channels.close()
        finally:
            for task in watching:
                task.cancel()
            for stream in streams:
                stream.end()
            self._channels.drop()

    async def _pass_on_arrivals(self, streams: list[S]) -> None:
        while (message := await self._channels.receive()) is not None:
            await self._pass_on(streams, *message)

    async def _run_all(self, streams: list[S]) -> None:
        await asyncio.gather(*map(self._run, streams))

    def _open(self) -> list[S]:
        raise NotImplementedError

    async def _run(self, stream: S) -> None:
        raise NotImplementedError

    async def _pass_on(self, streams: list[S], channel: int, data: bytes) -> None:
        raise NotImplementedError


class _CommandResponse(_StreamResponse[PodProcess]):
    def __init__(
        self,
        call: VerbCall,
        pod: Object,
        program: Program,
        container: str,
        command: tuple[str, ...],
    ) -> None:
        super().__init__(call, pod, (_V5, _V4))
        self._program = program
        self._container = container
        self._command = command
        self._has_stdin = call.request.flag("stdin")
        self._tty = call.request.flag("tty")

    def _open(self) -> list[PodProcess]:
        process = PodProcess(
            self._pod, self._channels, self._container, self._command, tty=self._tty
        )
        return [process]

    async def _run(self, stream: PodProcess) -> None:
        if not self._has_stdin:
            await stream.put(b"")
        try:
            status = _exit_status(await on_thread(self._program, stream))
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001 - it is the program's, and the client gets it
            _log_unexpected(error)
            status = internal(f"error executing command in container: {error}").status()
        with contextlib.suppress(ConnectionError):
            await self._channels.send(_STATUS, msgspec.json.encode(status))

    async def _pass_on(self, streams: list[PodProcess], channel: int, data: bytes) -> None:
        [process] = streams
        if channel == _STDIN and data and self._has_stdin:
            await process.put(data)
        elif channel == _CLOSE and data == bytes((_STDIN,)):
            await process.put(b"")
        elif channel == _RESIZE:
            with contextlib.suppress(msgspec.MsgspecError):
                size = decode(data, _Size)
                process.size = size.Width, size.Height


class _Size(msgspec.Struct):
    Width: int
    Height: int


class _PortsResponse(_StreamResponse[PodConnection]):
    def __init__(
        self, call: VerbCall, pod: Object, program: PortProgram, ports: Sequence[int]
    ) -> None:
        super().__init__(call, pod, (_V4, ""))
        self._program = program
        self._ports = ports

    def _open(self) -> list[PodConnection]:
        return [
            PodConnection(self._pod, self._channels, 2 * position, port)
            for position, port in enumerate(self._ports)
        ]

    async def _run(self, stream: PodConnection) -> None:
        errors = stream.channel + 1
        with contextlib.suppress(ConnectionError):
            number = stream.port.to_bytes(2, "little")
            await self._channels.send(stream.channel, number)
            await self._channels.send(errors, number)
            try:
                await on_thread(self._program, stream)
            except BrokenPipeError:
                return
            except Exception as error:  # noqa: BLE001 - as for a command
                _log_unexpected(error)
                about = self._pod["metadata"]
                text = (
                    f"error forwarding port {stream.port} to pod {about['name']}, "
                    f"uid {about['uid']}: {error}"
                )
                await self._channels.send(errors, text.encode())

    async def _pass_on(self, streams: list[PodConnection], channel: int, data: bytes) -> None:
        for stream in streams:
            if stream.channel == channel and data:
                await stream.put(data)


async def on_thread(program: Callable[[S], T], stream: S) -> T:
    """Return what a program returns; it runs in a thread, for as long as it likes."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(program(stream))
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            future.set_exception(error)

    SupervisedThread.started(run, name="pod-program", then="its stream does not end")
    return await asyncio.wrap_future(future)


def _log_unexpected(error: Exception) -> None:
    if not isinstance(error, OSError):
        LOG.error("a program of a pod failed", exc_info=error)


def _exit_status(code: int) -> dict[str, Any]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
