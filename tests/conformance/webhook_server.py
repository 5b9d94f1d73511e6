"""An admission webhook on loopback that answers what a scenario tells it to."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.pointers import Json

_TLS = Path(__file__).parents[1] / "data/tls"


class WebhookServer:
    """HTTPS admission webhook on loopback; answers come from the scenario.

    A scenario declares ``webhooks: {name: answer}``.  ``answer`` may hold ``response``
    (an AdmissionResponse without uid; ``patch`` given as a JSON Patch list is encoded),
    ``http_status`` (answer with that status and no review), ``delay`` (seconds) and
    ``raw`` (literal body).  Requests received are kept for ``webhook_calls`` steps.
    """

    def __init__(self) -> None:
        """Serve on a free port, with the certificate that the tests have for loopback."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_TLS / "server.crt", _TLS / "server.key")
        self.ca_pem = (_TLS / "ca.crt").read_bytes()
        self.answers: dict[str, Json] = {}
        self.calls: dict[str, list[Json]] = {}
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers AdmissionReview requests from ``outer.answers``."""

            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                """Serve one review."""
                length = int(self.headers.get("Content-Length", 0))
                review = json.loads(self.rfile.read(length) or b"{}")
                status, payload = outer.answer(self.path.partition("?")[0], review)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments: Any) -> None:
                """Stay silent."""

        class Server(http.server.ThreadingHTTPServer):
            """Threaded, with the TLS handshake done per connection, off the accept loop."""

            daemon_threads = False  # server_close() waits for them

            def finish_request(self, request: Any, client_address: Any) -> None:
                """Wrap the accepted socket in TLS, then serve it."""
                tls = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
                with contextlib.suppress(OSError), tls, outer.connection(tls):
                    tls.do_handshake()
                    super().finish_request(tls, client_address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self._thread.start()

    @contextlib.contextmanager
    def connection(self, sock: socket.socket) -> Iterator[None]:
        """Let ``close`` shut this socket down while the block runs."""
        with self._lock:
            if self._closing.is_set():
                raise ConnectionAbortedError
            self._connections.add(sock)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(sock)

    def answer(self, path: str, review: Json) -> tuple[int, bytes]:
        """HTTP status and body for a review received at ``path``."""
        self.calls.setdefault(path, []).append(review)
        answer = self.answers.get(path)
        if answer is None:
            return 404, b"{}"
        self._closing.wait(answer.get("delay", 0))
        if "raw" in answer:
            return answer.get("http_status", 200), answer["raw"].encode()
        if "http_status" in answer:
            return answer["http_status"], b"{}"
        response = {"uid": review.get("request", {}).get("uid", ""), **answer["response"]}
        if isinstance(response.get("patch"), list):
            response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
            response["patchType"] = "JSONPatch"
        return 200, json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        ).encode()

    def close(self) -> None:
        """Stop serving: end delays and idle connections, and wait for every thread."""
        self.server.shutdown()
        self._thread.join()
        with self._lock:
            self._closing.set()
            for sock in self._connections:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self.server.server_close()
