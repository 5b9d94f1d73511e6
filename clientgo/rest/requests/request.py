"""Building a request step by step, and sending it.

Promises that a mistake in building is kept and raised when the request is sent, before anything
goes out. So a chain of calls needs one `try`.

Differs from client-go (`rest` Request): there is no Result to ask for its error; sending returns
the response or raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from clientgo.meta import Codec, DecodeError, StatusError
from clientgo.rest.errors import TransportError, UnreadableAnswerError
from clientgo.rest.requests.attempts import (
    DEFAULT_MAX_RETRIES,
    Attempts,
    Call,
    CallKind,
    is_end_of_watch,
)
from clientgo.rest.requests.failure import answer_error, is_success, mention_request
from clientgo.rest.requests.go_duration import go_duration
from clientgo.rest.requests.shared_parts import SharedParts
from clientgo.rest.requests.watch_stream import EndedWatch, HTTPWatchStream
from clientgo.rest.server_warnings import WarningHandler, warnings_in
from clientgo.rest.transport.exchange import Answer, Headers, RequestBody
from clientgo.util.copies import CopyableError, uncopyable

T = TypeVar("T")

_UNESCAPED = "!$&'()*+,;=:@-._~"
"""What may stand in a path segment as it is; names of RBAC objects have colons."""


class RequestError(CopyableError, ValueError):
    """The request was built wrongly; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Result:
    """An answer in full."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    method: str = ""
    url: str = ""

    def decoded(self, decode: Callable[[bytes], T]) -> T:
        """The body as ``decode`` reads it.

        Raises what ``decode`` raises; the text of a :class:`~clientgo.meta.DecodeError` and of a
        :class:`~clientgo.meta.StatusError` then names the request.
        """
        try:
            return decode(self.body)
        except (StatusError, DecodeError) as error:
            mention_request(error, self.method, self.url)
            raise


@uncopyable("it has connections to a server; make one in each process")
class Request:
    """One request; made by :meth:`RestClient.request` and its short forms. For one thread.

    Every setter returns the request itself.
    """

    def __init__(self, shared: SharedParts, method: str) -> None:
        self._shared = shared
        self._method = method
        self._error: RequestError | None = None
        self._path: str | None = None
        self._namespace: str | None = None
        self._resource = ""
        self._name = ""
        self._subresources: tuple[str, ...] = ()
        self._query: list[tuple[str, str]] = []
        self._headers: dict[str, str] = {}
        self._body: RequestBody = None
        self._timeout = shared.config.timeout
        self._max_retries = DEFAULT_MAX_RETRIES
        self._warning_handler: WarningHandler | None = None

    def namespace(self, namespace: str) -> Request:
        """Address objects of one namespace; the empty string means those of all."""
        if self._namespace is not None:
            return self._wrong(f"the namespace is already {self._namespace!r}")
        if namespace and not self._is_segment("namespace", namespace):
            return self
        self._namespace = namespace
        return self

    def resource(self, plural: str) -> Request:
        """Address this kind of object, by its plural name."""
        if self._resource:
            return self._wrong(f"the resource is already {self._resource!r}, not {plural!r}")
        if self._is_segment("resource", plural):
            self._resource = plural
        return self

    def name(self, name: str) -> Request:
        """Address one object."""
        if not name:
            return self._wrong("the name of the object is empty")
        if self._name:
            return self._wrong(f"the name is already {self._name!r}, not {name!r}")
        if self._is_segment("name", name):
            self._name = name
        return self

    def subresource(self, *names: str) -> Request:
        """Address something under an object, such as ``status``."""
        if self._subresources:
            return self._wrong(f"the subresource is already {'/'.join(self._subresources)!r}")
        if all(self._is_segment("subresource", name) for name in names):
            self._subresources = names
        return self

    def absolute_path(self, path: str) -> Request:
        """Address a path below the server's URL, instead of a resource; it is sent as it is."""
        self._path = path
        return self

    def query(self, name: str, value: str) -> Request:
        """Add a query parameter; the same one may be added several times."""
        self._query.append((name, value))
        return self

    def queries(self, parameters: list[tuple[str, str]]) -> Request:
        """Add several query parameters."""
        self._query += parameters
        return self

    def header(self, name: str, value: str) -> Request:
        """Set a header, in place of the client's own if it has one."""
        self._headers[name] = value
        return self

    def body(self, content: RequestBody, content_type: str = "application/json") -> Request:
        """Send this. Bytes can be sent again in a retry, anything else is read only once."""
        self._body = content
        self._headers["Content-Type"] = content_type
        return self

    def timeout(self, seconds: float) -> Request:
        """Tell the server how long this may take; for a plain call it is also our own limit.

        It holds over all attempts, from when the rate limiter has let the first one through.
        """
        self._timeout = seconds
        return self

    def max_retries(self, count: int) -> Request:
        """Try again at most this often; a negative number counts as 0. The default is 10."""
        self._max_retries = max(count, 0)
        return self

    def warning_handler(self, handler: WarningHandler) -> Request:
        """Pass warnings in the answer to this handler instead of the client's."""
        self._warning_handler = handler
        return self

    @property
    def url(self) -> str:
        """The URL of the request, as far as it is built."""
        query = list(self._query)
        if self._timeout:
            query.append(("timeout", go_duration(self._timeout)))
        url = self._shared.config.server + self._full_path()
        return f"{url}?{urlencode(query)}" if query else url

    def do(self, stop: threading.Event | None = None) -> Result:
        """Send the request and return the answer.

        Blocks. Raises :class:`~clientgo.meta.StatusError` for an answer that is no success,
        :class:`~clientgo.rest.errors.TransportError` where there was none,
        :class:`RequestError` for a request that was built wrongly.
        """
        return self._do(stop, warn=True)

    def decoded(self, decode: Callable[[bytes], T], stop: threading.Event | None = None) -> T:
        """Send the request and return its answer as ``decode`` reads it.

        Raises as :meth:`do` and :meth:`Result.decoded` do.
        """
        return self.do(stop).decoded(decode)

    def do_raw(self, stop: threading.Event | None = None) -> bytes:
        """Like :meth:`do`, for just the bytes: warnings are not looked for."""
        return self._do(stop, warn=False).body

    def stream(self, stop: threading.Event | None = None) -> Answer:
        """Send the request and return its successful answer with the body to be read bit by bit.

        The caller closes the answer. Raises as :meth:`do` does.
        """
        self._check()
        attempts = Attempts(self._call(CallKind.STREAM), self._shared, stop)
        answer = self._successful(attempts.open(), attempts)
        self._warn(answer.headers)
        return answer

    def watch(
        self, codec: Codec[Any], stop: threading.Event | None = None
    ) -> HTTPWatchStream | EndedWatch:
        """Send the request and return the stream of its events; ``stop`` ends that too.

        A server that was lost, attempt after attempt, makes a watch that has ended already: the
        caller will come back for more. Raises as :meth:`do` does, with nothing left open.
        """
        self._check()
        attempts = Attempts(self._call(CallKind.WATCH), self._shared, stop)
        try:
            answer = self._successful(attempts.open(), attempts)
        except TransportError as error:
            if is_end_of_watch(error):
                return EndedWatch()
            raise
        self._warn(answer.headers)
        clock, config = self._shared.clock, self._shared.config
        lasts = self._timeout + config.watch_grace if self._timeout else None
        return HTTPWatchStream(
            answer,
            codec,
            idle_timeout=config.watch_idle_timeout,
            deadline=None if lasts is None else clock.monotonic() + lasts,
            clock=clock,
        )

    def _do(self, stop: threading.Event | None, *, warn: bool) -> Result:
        self._check()
        shared = self._shared
        began = shared.clock.monotonic()
        attempts = Attempts(self._call(CallKind.PLAIN), shared, stop)
        try:
            with attempts.open() as answer:
                if warn:
                    self._warn(answer.headers)
                if not is_success(answer.status):
                    raise self._refusal(answer, attempts)
                body = attempts.read(answer)
        finally:
            shared.metrics.latency(self._method, shared.clock.monotonic() - began)
        sent = len(self._body) if isinstance(self._body, bytes) else 0
        shared.metrics.sizes(self._method, sent, len(body))
        return Result(answer.status, answer.headers, body, self._method, answer.url)

    def _successful(self, answer: Answer, attempts: Attempts) -> Answer:
        """The answer itself, or its refusal raised and the answer closed."""
        if is_success(answer.status):
            return answer
        with answer:
            self._warn(answer.headers)
            raise self._refusal(answer, attempts)

    def _refusal(self, answer: Answer, attempts: Attempts) -> Exception:
        try:
            body = attempts.read(answer)
        except UnreadableAnswerError:
            body = b""  # a gateway's page, most likely; the status says enough
        error = answer_error(self._method, answer.url, answer.status, answer.headers, body)
        attempts.mention_previous(error)
        return error

    def _warn(self, headers: Any) -> None:
        if "Warning" in headers:
            handler = self._warning_handler or self._shared.warning_handler
            for text in warnings_in(headers.getlist("Warning")):
                handler(text)

    def _call(self, kind: CallKind) -> Call:
        return Call(
            kind=kind,
            method=self._method,
            url=self.url,
            headers=self._all_headers(kind),
            body=self._body,
            timeout=self._timeout,
            read_timeout=self._shared.config.read_timeout,
            max_retries=self._max_retries,
        )

    def _all_headers(self, kind: CallKind) -> Headers:
        headers = self._shared.headers.copy()
        if kind is CallKind.WATCH:
            # A server that compresses collects bytes first, so events would be late.
            headers["Accept-Encoding"] = "identity"
        headers.update(self._headers)
        return headers

    def _full_path(self) -> str:
        if self._path is not None:
            return self._path
        parts = [self._shared.api_path]
        if self._namespace:
            parts += ["namespaces", self._namespace]
        parts += [part for part in (self._resource, self._name) if part]
        parts += self._subresources
        return parts[0] + "".join(f"/{quote(part, safe=_UNESCAPED)}" for part in parts[1:])

    def _is_segment(self, what: str, text: object) -> bool:
        if not isinstance(text, str):  # from the metadata of an object that a program has built
            self._wrong(f"{text!r} cannot be a {what}, which is a text")
            return False
        if text and text not in (".", "..") and "/" not in text and "%" not in text:
            return True
        self._wrong(f"{text!r} cannot be a {what}: no empty text, '.', '..', '/' or '%'")
        return False

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._namespace == "":
            if self._method == "POST":
                raise RequestError(f"creating in {self._resource} needs a namespace; set one")
            if self._name:
                raise RequestError(f"{self._resource} {self._name!r} needs a namespace; set one")

    def _wrong(self, problem: str) -> Request:
        """Keep the first mistake; later ones often follow from it."""
        if self._error is None:
            self._error = RequestError(f"{self._method} request: {problem}")
        return self
