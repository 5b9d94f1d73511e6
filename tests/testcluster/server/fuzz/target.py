"""The server that is tested, in a process of its own, and what is expected of it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
import yaml

from clientgo.testcluster.server.http.protobuf.decoding import MAGIC, decode_protobuf
from clientgo.testcluster.server.http.protobuf.wire import ProtobufError
from tests.testcluster.server.fuzz.errors import REAL_SERVER_ERRORS
from tests.testcluster.server.fuzz.source import Kind
from tests.testcluster.server.fuzz.wire import FuzzedRequest, Wire
from tests.testcluster.server.http_api import Answer, Api

_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups whose objects are not stored."""

_EXPECTED_LINES = re.compile("its failure policy is to ignore that$")
"""What a server logs because of what clients do."""

_WITH_USERS = ["--authorization-mode", "RBAC", "--service-accounts"]

_LINE_LIMIT = 64 * 1024
"""Characters of the server's log that a failure shows."""


class Failure(Exception):
    """The server did what it must not; ``signature`` is equal for failures of one cause."""

    def __init__(self, message: str, signature: str = "") -> None:
        super().__init__(message)
        self.signature = signature or message.splitlines()[0][:120]


class _CheckedApi(Api):
    """A client whose requests must be answered."""

    def call(self, method: str, path: str, *arguments: Any, **query: Any) -> Answer:
        """Send a request.

        Raises:
            Failure: there is no response in time.
        """
        try:
            return super().call(method, path, *arguments, **query)
        except urllib3.exceptions.HTTPError as error:
            raise Failure(f"{method} {path}: {error}", f"{method} of a check: no answer") from error


class Target:
    """A running server."""

    def __init__(
        self, options: list[str], patience: float, port: int = 0, *, has_users: bool = False
    ) -> None:
        """With ``has_users`` roles decide what clients may do; the fuzzer's is an administrator."""
        self.has_users = has_users
        command = [sys.executable, "-m", "clientgo", "apiserver"]
        command += _WITH_USERS if has_users else ["--insecure-loopback"]
        with tempfile.NamedTemporaryFile("w") as log:
            self._log = open(log.name)  # noqa: SIM115 - closed in kill
            self._process = subprocess.Popen(
                [*command, "--listen", f"127.0.0.1:{port}", *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        found = re.search(r"listens on (\S+)\. ", self._process.stdout.readline())
        if found is None:
            raise Failure(f"the server does not start: {self._new_log()}")
        self.url = found[1]
        self.port = int(self.url.rpartition(":")[2])
        kubeconfig = re.search(r"--kubeconfig (\S+)", self._process.stdout.readline())
        assert kubeconfig is not None
        self._credentials = _credentials(kubeconfig[1]) if has_users else (None, None)
        self.api = _CheckedApi(self.url, *self._credentials, patience)
        self._patience = patience
        self._wire = self.connect(patience)
        self.longest_wait = 0.0

    def connect(self, patience: float) -> Wire:
        """Return another client."""
        return Wire(self.url, patience, *self._credentials)

    # -- requests

    def send(self, request: FuzzedRequest | bytes) -> Any:
        """Send a request and check the response; return it if it is an object.

        Raises:
            Failure: there is none in time, or it is not one of a correct server.
        """
        if isinstance(request, bytes):
            received = self._wire.babble(request)
            self._check_log()
            if re.search(rb"^HTTP/1\.1 5", received, re.MULTILINE):
                raise Failure(f"bytes were answered with {received[:500]!r}")
            return None
        begun = time.monotonic()
        try:
            status, body = self._ask(request)
        except TimeoutError:
            raise Failure(f"no answer within {self._patience:.0f} s", "no answer in time") from None
        finally:
            self.longest_wait = max(self.longest_wait, time.monotonic() - begun)
        self._check_log()
        return self._check_answer(request, status, body)

    def _ask(self, request: FuzzedRequest) -> tuple[int, bytes]:
        try:
            return self._wire.ask(request)
        except TimeoutError:
            self._wire.close()
            raise
        except OSError:
            self._wire.close()  # the server may close an idle connection, or after an error
        try:
            return self._wire.ask(request)
        except TimeoutError:
            raise
        except OSError as error:
            self._wire.close()
            self.check_alive()
            raise Failure(f"the connection was closed without an answer: {error}") from error

    def _check_answer(self, request: FuzzedRequest, status: int, body: bytes) -> Any:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = _read_other(body) if status >= 500 else None
            if status >= 500 and body and status != 503 and not isinstance(answer, dict):
                raise Failure(f"{status} without a Status: {body[:300]!r}") from None
        if status >= 500 and isinstance(answer, dict):
            message = str(answer.get("message"))
            if status != 501 and not REAL_SERVER_ERRORS.search(message):
                raise Failure(f"{status}: {message}")
        if status >= 400 and isinstance(answer, dict) and answer.get("code", status) != status:
            raise Failure(f"{status} with the Status {answer}")
        return answer if status < 300 and isinstance(answer, dict) else None

    # -- checks

    def check_alive(self) -> None:
        """Check that the process runs and answers.

        Raises:
            Failure: it does not.
        """
        status = self._process.poll()
        if status is not None:
            raise Failure(f"the server has ended with status {status}: {self._new_log()}")
        answer = self.api.call("GET", "/api/v1/namespaces/default")
        if answer.status != 200:
            raise Failure(f"the namespace default is answered with {answer.status}")

    def is_alive(self) -> bool:
        """Return True if the process runs."""
        return self._process.poll() is None

    def _check_log(self) -> None:
        text = "\n".join(
            line for line in self._new_log().splitlines() if not _EXPECTED_LINES.search(line)
        )
        if text:
            last = text.strip().splitlines()[-1]
            places = re.findall(r'File ".*?(clientgo/\S+)", line (\d+)', text)
            raise Failure(f"the server logs:\n{text}", f"{last[:80]} {places[-1:]}")

    def _new_log(self) -> str:
        return self._log.read(_LINE_LIMIT)

    @property
    def resident_megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    @property
    def processor_seconds(self) -> float:
        """The processor time of the server, which the load of the machine does not change."""
        status = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(status[11]) + int(status[12])) / os.sysconf("SC_CLK_TCK")

    def kinds(self) -> tuple[list[Kind], dict[str, Any]]:
        """The resources that objects can be created of, and the schemas that they refer to."""
        found: list[Kind] = []
        components: dict[str, Any] = {}
        for path in sorted(self.api.get("/openapi/v3")["paths"]):
            if path not in ("api/v1",) and not re.fullmatch(r"apis/[^/]+/[^/]+", path):
                continue
            document = self.api.get(f"/openapi/v3/{path}")
            components |= document["components"]["schemas"]
            group = path.removeprefix("apis/").removeprefix("api/").rpartition("/")[0]
            if group in _REVIEWS:
                continue
            found += _kinds_of(path, self.api.get(f"/{path}"), document)
        return found, components

    def state(self, kinds: list[Kind]) -> dict[str, Any]:
        """Every object by its path."""
        return {
            kind.path_of(item): {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                **item,
            }
            for kind in kinds
            for item in self.list_of(kind)["items"]
        }

    def list_of(self, kind: Kind) -> Any:
        """Return the list of a kind in all namespaces.

        Raises:
            Failure: it is not answered.
        """
        until = time.monotonic() + 30
        while (answer := self.api.call("GET", kind.everywhere)).status >= 500:
            if time.monotonic() > until:
                break
            time.sleep(0.1)  # a definition that has changed is not in effect yet
        if answer.status != 200:
            raise Failure(f"{kind.everywhere} is listed with {answer.status}: {answer.body}")
        return answer.body

    def check_consistency(self, kinds: list[Kind]) -> int:
        """Check that a list and a get show the same; return the number of objects.

        Raises:
            Failure: they don't, or the server logs an error.
        """
        until = time.monotonic() + self._patience
        while problem := self._difference(objects := self.state(kinds)):
            if time.monotonic() > until:
                raise Failure(problem, "a list and a get differ")
            time.sleep(0.2)  # the garbage collector is still at work
        self.check_alive()
        self._check_log()
        return len(objects)

    def _difference(self, objects: dict[str, Any]) -> str:
        for path, obj in objects.items():
            answer = self.api.call("GET", path)
            if answer.status != 200 or answer.body != obj:
                return f"{path} is listed as {obj} and read as {answer.body}"
        return ""

    # -- the end

    def stop(self) -> None:
        """Stop it with a signal.

        Raises:
            Failure: it does not end, or not well.
        """
        self._wire.close()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failure("the server does not end on SIGTERM") from None
        if status:
            raise Failure(f"the server ends with status {status}: {self._new_log()}")
        self._check_log()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


def _read_other(body: bytes) -> Any:
    """Return what a body is in protobuf or YAML; None if it is neither."""
    if body.startswith(MAGIC):
        with contextlib.suppress(ProtobufError):
            return decode_protobuf(body)
    try:
        return yaml.safe_load(body)
    except (yaml.YAMLError, UnicodeError):
        return None


def _credentials(kubeconfig: str) -> tuple[ssl.SSLContext, str]:
    config = yaml.safe_load(Path(kubeconfig).read_text())
    authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
    context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
    return context, config["users"][0]["user"]["token"]


def _kinds_of(path: str, resources: Any, document: Any) -> Iterator[Kind]:
    api_version = path.removeprefix("apis/").removeprefix("api/")
    group, _, version = api_version.rpartition("/")
    schemas = {
        (entry["group"], entry["version"], entry["kind"]): schema
        for schema in document["components"]["schemas"].values()
        for entry in schema.get("x-kubernetes-group-version-kind", ())
    }
    names = [resource["name"] for resource in resources["resources"]]
    for resource in resources["resources"]:
        name = resource["name"]
        if "/" in name or not {"create", "get", "list"} <= set(resource["verbs"]):
            continue
        base = f"/{path}/namespaces/default" if resource["namespaced"] else f"/{path}"
        schema = schemas.get((group, version, resource["kind"]), {})
        subresources = [
            other.removeprefix(f"{name}/") for other in names if other.startswith(f"{name}/")
        ]
        yield Kind(f"{base}/{name}", api_version, resource["kind"], schema, frozenset(subresources))


@contextmanager
def watched(target: Target, patience: float) -> Iterator[list[float]]:
    """Ask for the health all the time; give the times that it took."""
    waits: list[float] = [0.0]
    over = threading.Event()

    def ask() -> None:
        wire = target.connect(patience)
        while not over.wait(0.2):
            begun = time.monotonic()
            try:
                wire.ask(FuzzedRequest("GET", "/livez", (), b""))
            except OSError:
                wire.close()
                if target.is_alive():
                    waits.append(time.monotonic() - begun)
                continue
            waits.append(time.monotonic() - begun)
        wire.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()
