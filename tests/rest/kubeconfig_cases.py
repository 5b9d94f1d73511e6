"""The tables of kubeconfigs in tests/data/kubeconfig, written out, and what a server got.

A case is the file ``BASE`` with another ``cluster``, ``context`` or ``user``, with texts replaced
(``replace``), another content (``file``), or several ``files`` of which ``KUBECONFIG`` lists some
(``listed``). Names such as ``$SERVER`` are those of :class:`Servers`.

``sends`` is what the server gets: headers, the path, the name in the client's certificate.
``refused`` is in our error. ``kubectl`` is in the error of kubectl, or ``accepts`` where it is no
error; without it kubectl sends the same. ``differs`` says why the answers differ.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from clientgo.testing.scripted_server import RecordedRequest, ScriptedServer, answer_json

DATA = Path(__file__).parent.parent / "data"
TLS = DATA / "tls"

BASE = """\
apiVersion: v1
kind: Config
current-context: x
clusters: [{name: c, cluster: CLUSTER}]
contexts: [{name: x, context: CONTEXT}]
users: [{name: u, user: USER}]
"""
PARTS = {
    "cluster": "{server: $SERVER, certificate-authority-data: $CA_DATA}",
    "context": "{cluster: c, user: u}",
    "user": "{token: t}",
}

Case = Mapping[str, Any]


def cases() -> dict[str, Case]:
    """Return all cases, by the name of their file and their own."""
    found = {}
    for path in sorted((DATA / "kubeconfig").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            found[f"{path.stem}: {case['case']}"] = case
    return found


class _RecordingContext:
    """The TLS of a server, and the names in the certificates that its clients showed."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
        self._context.load_verify_locations(TLS / "ca.crt")
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self.names: list[str | None] = []

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        wrapped = self._context.wrap_socket(*args, **options)
        subject: Any = (wrapped.getpeercert() or {}).get("subject", ())
        names = dict(pair for part in subject for pair in part)
        self.names.append(names.get("commonName"))
        return wrapped


class Servers:
    """A server with TLS and one without, which answer everything."""

    def __init__(self) -> None:
        self._tls = _RecordingContext()
        self.secure = ScriptedServer(tls=self._tls)  # type: ignore[arg-type]
        self.plain = ScriptedServer()
        for server in (self.secure, self.plain):
            server.on("*", answer_json({"major": "1"}))
        ca = (TLS / "ca.crt").read_text()
        bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        self._texts = {
            "SERVER": self.secure.url,
            "PORT": str(self.secure.port),
            "HTTP": self.plain.url,
            "HTTP_PORT": str(self.plain.port),
            "CA": ca,
            "CA_FILE": str(TLS / "ca.crt"),
            "CA_DATA": _base64(ca),
            "CA_AND_MORE_DATA": _base64(f"# für alle\n{bad}{ca}\n{bad}"),
        }
        for name in ("one", "two"):
            for kind in ("crt", "key"):
                path = TLS / f"client-{name}.{kind}"
                self._texts[f"{name}_{kind}_FILE".upper()] = str(path)
                self._texts[f"{name}_{kind}_DATA".upper()] = _base64(path.read_text())

    def fill(self, text: str) -> str:
        return Template(text).safe_substitute(self._texts)

    def close(self) -> None:
        self.secure.close()
        self.plain.close()

    def last_request(self) -> dict[str, str | None]:
        """Return the headers and certificate of the last request, and the path of the first."""
        requests = self.secure.requests or self.plain.requests
        request: RecordedRequest = requests[-1]
        sent: dict[str, str | None] = {}
        for name, value in request.header_lines:
            before = sent.get(name.lower())
            sent[name.lower()] = f"{before}, {value}" if before else value
        certificate = self._tls.names[-1] if self.secure.requests else None
        return sent | {"path": requests[0].path, "certificate": certificate}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@dataclass(frozen=True)
class Written:
    """Where a case was written: the only file, or the list for ``KUBECONFIG``."""

    path: Path | None
    listed: str


def write(case: Case, directory: Path, servers: Servers) -> Written:
    """Write the files of a case."""
    text = case.get("file")
    if text is None:
        text = BASE
        for part, default in PARTS.items():
            text = text.replace(part.upper(), case.get(part, default))
        for old, new in case.get("replace", {}).items():
            assert old in text
            text = text.replace(old, new)
        text += case.get("after", "")
    if "repeat" in case:
        start, again, times = case["repeat"]
        text = start + again * times
    text = servers.fill(text)
    if "files" not in case:
        path = directory / "config"
        path.write_bytes(text.encode(case.get("encoding", "utf-8")))
        return Written(path, "")
    for name, content in case["files"].items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text if content == "base" else servers.fill(content))
    return Written(None, ":".join(name and str(directory / name) for name in case["listed"]))
