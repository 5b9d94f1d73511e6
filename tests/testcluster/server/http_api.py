"""A client for tests: JSON in, JSON out, watches as iterators of events."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import urllib3

MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    warnings: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class Api:
    """A client with no opinions."""

    def __init__(
        self,
        url: str,
        context: ssl.SSLContext | None = None,
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.url = url
        self._timeout = timeout
        self._pool = urllib3.PoolManager(maxsize=8, ssl_context=context)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> Answer:
        """Send a request, whatever comes of it; a body of bytes is sent as it is."""
        answer = self._pool.request(
            method,
            self._address(path, query),
            body=json.dumps(body) if body is not None and not isinstance(body, bytes) else body,
            headers={"Content-Type": content_type, **self._headers, **(headers or {})},
            retries=False,
            timeout=self._timeout,
        )
        is_json = "json" in answer.headers.get("content-type", "")
        text = answer.data.decode()
        read = (json.loads(text) if is_json else text) if text else None
        warnings = tuple(answer.headers.getlist("warning"))
        return Answer(answer.status, read, warnings, answer.headers)

    def get(self, path: str, **query: str) -> Any:
        """Read something that must be there."""
        return self._succeed("GET", path, None, query=query)

    def create(self, path: str, body: Any) -> Any:
        """Create something that must be accepted."""
        return self._succeed("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """Merge a change that must be accepted."""
        return self._succeed("PATCH", path, body, MERGE_PATCH)

    def delete(self, path: str, body: Any = None) -> Any:
        """Delete something that must be there."""
        return self._succeed("DELETE", path, body)

    def watch(self, path: str, **query: str) -> Watch:
        """Start a watch that must be accepted."""
        answer = self._pool.request(
            "GET",
            self._address(path, {"watch": "1", **query}),
            headers=self._headers,
            preload_content=False,
            retries=False,
            timeout=self._timeout,
        )
        assert answer.status == 200
        return Watch(answer)

    def _succeed(
        self,
        method: str,
        path: str,
        body: Any,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Any:
        answer = self.call(method, path, body, content_type, **(query or {}))
        assert answer.status < 300, answer
        return answer.body

    def _address(self, path: str, query: dict[str, str]) -> str:
        return self.url + path + ("?" + urlencode(query) if query else "")


class Watch:
    """The events of one watch; iteration ends when the server ends it."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer
        self._events = self._read()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._events

    def next(self) -> dict[str, Any]:
        return next(self._events)

    def _read(self) -> Iterator[dict[str, Any]]:
        pending = b""
        while chunk := self._answer.read1(1 << 16):
            *lines, pending = (pending + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines)

    def close(self) -> None:
        self._answer.close()


CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def configmap(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def widget_crd() -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def widget(name: str, size: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": size},
    }
