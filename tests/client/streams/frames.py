"""A server's end of a stream, byte by byte, for scripts of a `ScriptedServer`."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from typing import Any

from clientgo.testing.scripted_server import Answer, RecordedRequest, Script, Step, send

V5 = "v5.channel.k8s.io"
V4 = "v4.channel.k8s.io"
EXEC = "/api/v1/namespaces/default/pods/web-0/exec"
PORT = "/api/v1/namespaces/default/pods/web-0/portforward"

BINARY, CONTINUATION, CLOSE, PING, PONG = 2, 0, 8, 9, 10
STATUS = 3


def switching(*scripts: Script, protocol: str = V5, together: bytes = b"") -> Answer:
    """Switch to a WebSocket; ``together`` comes in the packet of the head."""

    def script(request: RecordedRequest) -> list[Step]:
        guid = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        key = request.headers["sec-websocket-key"].encode()
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Connection: Upgrade",
            "Upgrade: websocket",
            f"Sec-WebSocket-Accept: {base64.b64encode(hashlib.sha1(key + guid).digest()).decode()}",
            *([f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []),
        ]
        head = send("\r\n".join([*lines, "", ""]).encode() + together)
        return [step for steps in (head, *scripts) for step in steps]

    return script


def frame(data: bytes, opcode: int = BINARY, *, last: bool = True) -> bytes:
    """A frame as a server sends it: not masked."""
    size = len(data)
    head = bytes([opcode | (0x80 if last else 0)])
    if size < 126:
        return head + bytes([size]) + data
    if size < 1 << 16:
        return head + b"\x7e" + size.to_bytes(2, "big") + data
    return head + b"\x7f" + size.to_bytes(8, "big") + data


def message(channel: int, data: bytes | str) -> bytes:
    return frame(bytes([channel]) + (data.encode() if isinstance(data, str) else data))


def exit_status(code: int = 0) -> bytes:
    """The last message of a command."""
    if code == 0:
        return message(STATUS, json.dumps({"metadata": {}, "status": "Success"}))
    causes = [{"reason": "ExitCode", "message": str(code)}]
    failure = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return message(STATUS, json.dumps(failure))


def close(code: int = 1000, reason: str = "") -> bytes:
    return frame(code.to_bytes(2, "big") + reason.encode(), CLOSE)


class Received:
    """The frames that a client has sent, read by :meth:`next` as a step of a script."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []

    def next(self, sock: socket.socket) -> None:
        first, second = self._read(sock, 2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self._read(sock, 2 if size == 126 else 8), "big")
        assert second & 0x80, "a client must mask"
        mask = self._read(sock, 4)
        data = self._read(sock, size)
        plain = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
        self.frames.append((first & 0x0F, plain))

    def _read(self, sock: Any, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = sock.recv(size - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data
