"""The account service, which is not part of the cluster: a client, and a small fake server.

The service has no watch. ``GET``, ``PUT`` and ``DELETE`` of ``/accounts/NAME`` are all it has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

TIMEOUT = 5.0
"""Seconds that a request may take."""


class Account(msgspec.Struct, frozen=True):
    """An account, and the digest of the password with which it logs in."""

    name: str
    digest: str


class Accounts:
    """A client of the service. Its methods raise ``OSError``. Thread-safe."""

    def __init__(self, url: str) -> None:
        self._url = url

    def find(self, name: str) -> list[Account]:
        """Return the account in a list, or an empty list if the service has none."""
        answer = self._send("GET", name)
        return [msgspec.json.decode(answer, type=Account)] if answer else []

    def put(self, account: Account) -> None:
        """Create or replace an account."""
        self._send("PUT", account.name, msgspec.json.encode(account))

    def drop(self, name: str) -> None:
        """Delete an account; it may be gone already."""
        self._send("DELETE", name)

    def _send(self, method: str, name: str, body: bytes | None = None) -> bytes:
        request = Request(f"{self._url}/accounts/{name}", body, method=method)
        try:
            with urlopen(request, timeout=TIMEOUT) as response:
                answer: bytes = response.read()
        except HTTPError as error:
            # Only "not found" means that there is no account; any other failure says nothing.
            if error.code != 404:
                raise
            error.close()
            return b""
        return answer


class AccountService(ThreadingHTTPServer):
    """The fake server. ``requests`` has the writes; ``down`` refuses everything."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.accounts: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.down = False
        self._lock = threading.Lock()

    def answer(self, method: str, name: str, body: bytes) -> tuple[int, bytes]:
        """Do what a request asks for; return the status and the account."""
        with self._lock:
            if self.down:
                return 503, b""
            if method != "GET":
                self.requests.append(f"{method} {name}")
            if method == "PUT":
                self.accounts[name] = body
            found = self.accounts.get(name)
            if method == "DELETE":
                self.accounts.pop(name, None)
        return (404, b"") if found is None else (200, found)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving_accounts() -> Iterator[AccountService]:
    """Serve accounts from memory until the end of the block."""
    with AccountService() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.02,), name="accounts")
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: AccountService

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer = self.server.answer(self.command, name, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_DELETE = do_GET  # noqa: N815 - their names there

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Log nothing."""
