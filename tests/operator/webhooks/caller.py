"""Calling a webhook server as an API server does: over TLS, trusting one authority."""

from __future__ import annotations

import shutil
import socket
import ssl
from pathlib import Path

import urllib3

from clientgo.operator.webhooks import WebhookServer

TLS = Path(__file__).parents[2] / "data" / "tls"
"""``server`` is valid for 127.0.0.1, ``client-one`` is a client; ``ca`` vouches for both."""


def put_certificate(directory: Path, name: str = "server") -> Path:
    """Put a pair where a webhook server looks for it."""
    directory.mkdir(exist_ok=True)
    shutil.copyfile(TLS / f"{name}.key", directory / "tls.key")
    shutil.copyfile(TLS / f"{name}.crt", directory / "tls.crt")
    return directory


def trusting(authority: Path | bytes = TLS / "ca.crt", client: str = "") -> ssl.SSLContext:
    """The TLS settings of a caller; ``client`` is the certificate that it shows."""
    if isinstance(authority, bytes):
        context = ssl.create_default_context(cadata=authority.decode())
    else:
        context = ssl.create_default_context(cafile=authority)
    if client:
        context.load_cert_chain(TLS / f"{client}.crt", TLS / f"{client}.key")
    return context


def post(
    server: WebhookServer,
    path: str,
    content: bytes,
    *,
    context: ssl.SSLContext | None = None,
    content_type: str = "application/json",
) -> tuple[int, bytes]:
    """Status and body of the answer to a call of its own connection."""
    with urllib3.PoolManager(ssl_context=context or trusting()) as pool:
        answer = pool.request(
            "POST",
            server.url + path,
            body=content,
            headers={"Content-Type": content_type},
            retries=False,
            timeout=30,
        )
        return answer.status, answer.data


def connect(address: tuple[str, int], context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    """A connection after its handshake."""
    sock = socket.create_connection(address, timeout=30)
    return (context or trusting()).wrap_socket(sock, server_hostname=address[0])


def read_to_end(sock: socket.socket) -> bytes:
    """Everything that comes until the other side closes the connection."""
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)
