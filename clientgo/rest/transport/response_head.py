"""The status line and headers of an answer.

Promises Go's limits: any number of headers, 10 MiB in all. Interim answers (100 Continue, 103 Early
Hints) are passed over, headers are UTF-8, and a head that is cut short or that leaves open where
its body ends is an error.

`http.client` takes 100 headers of 64 KiB, any 1xx but 100 for the answer, and a cut head for a
whole one. Source: Go `net/http` Transport, ReadResponse.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, cast

from urllib3 import HTTPHeaderDict

_LONGEST_HEAD: Final = 10 * 1024 * 1024
_MOST_INTERIM_ANSWERS: Final = 1000
_BLANKS: Final = " \t\r\n"
_NO_CODING: Final = ("", "identity")


class MalformedHeadError(http.client.HTTPException):
    """The bytes before the body are not those of an HTTP answer."""


class Response(http.client.HTTPResponse):
    """A response of `http.client` that reads its own head."""

    _method: str | None
    _read_status: Callable[[], tuple[str, int, str]]
    _check_close: Callable[[], bool]

    @property
    def fields(self) -> HTTPHeaderDict:
        """The headers. `http.client`, which only gets single ones, declares another type."""
        fields: Any = self.headers
        return cast("HTTPHeaderDict", fields)

    def begin(self, **_: Any) -> None:
        version, status, reason = self._read_final_status()
        if not version.startswith("HTTP/1."):
            raise http.client.UnknownProtocol(version)
        self.version = 10 if version == "HTTP/1.0" else 11
        self.code = self.status = status
        self.reason = reason.strip()
        self.headers = self.msg = HTTPHeaderDict(_read_headers(self.fp))  # type: ignore[assignment]
        self.chunked = self._is_chunked()
        self.chunk_left = None
        self.will_close = self._check_close()
        self.length = self._body_length()
        if self.length is None and not self.chunked:
            self.will_close = True  # the body lasts until the connection is closed

    def flush(self) -> None:
        """Do nothing: a response has nothing to write, and its stream may have been freed first.

        `http.client` raises then, and CPython 3.14 prints that for each response left open.
        """

    def _read_final_status(self) -> tuple[str, int, str]:
        for _ in range(_MOST_INTERIM_ANSWERS):
            version, status, reason = self._read_status()
            if not 100 <= status < 200 or status == HTTPStatus.SWITCHING_PROTOCOLS:
                return version, status, reason
            _read_headers(self.fp)
        raise MalformedHeadError(f"more than {_MOST_INTERIM_ANSWERS} interim answers")

    def _is_chunked(self) -> bool:
        coding = ", ".join(self.fields.getlist("transfer-encoding")).lower()
        if coding != "chunked" and coding not in _NO_CODING:
            raise MalformedHeadError(f"unknown Transfer-Encoding {coding!r:.40}")
        return coding == "chunked"

    def _body_length(self) -> int | None:
        if self._method == "HEAD" or self.status in (101, 204, 304):
            return 0
        if self.chunked:
            return None
        lengths = set(self.fields.getlist("content-length"))
        if not lengths:
            return None
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdigit()):
            raise MalformedHeadError(f"bad Content-Length {length!r:.40}")
        return int(length)


def _read_headers(stream: Any) -> list[tuple[str, str]]:
    """Read up to the empty line that ends them."""
    headers: list[tuple[str, str]] = []
    left = _LONGEST_HEAD
    while (line := stream.readline(left)) != b"\r\n" and line != b"\n":
        left -= len(line)
        if left <= 0:
            raise MalformedHeadError(f"more than {_LONGEST_HEAD} bytes of headers")
        if not line.endswith(b"\n"):
            raise http.client.RemoteDisconnected("it was closed in the middle of the headers")
        text = _text(line)
        if text[0] in " \t" and headers:  # the line before goes on
            name, value = headers[-1]
            headers[-1] = name, f"{value} {text.strip(_BLANKS)}"
            continue
        name, colon, value = text.partition(":")
        if not colon:
            raise MalformedHeadError(f"a header without a colon: {text!r:.40}")
        headers.append((name.strip(_BLANKS), value.strip(_BLANKS)))
    return headers


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")
