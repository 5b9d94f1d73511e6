"""Who may read a manager's secure metrics.

Promises that a reader needs a token that the API server accepts, and the right to get the path. The
API server is asked at most once a minute about a token; without its answer access is denied.

Source: controller-runtime pkg/metrics/filters.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
import tempfile
import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Final, Generic, TypeVar

from clientgo.api.authentication_v1 import TokenReview, TokenReviewSpec, UserInfo
from clientgo.api.authorization_v1 import (
    NonResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from clientgo.client import Client
from clientgo.meta import DecodeError, StatusError
from clientgo.observe.serving import (
    CertificateError,
    Handler,
    Request,
    Response,
    ServingCertificate,
)
from clientgo.operator.errors import ConfigError
from clientgo.record.lru_cache import LRUCache
from clientgo.rest import TransportError
from clientgo.util.certificates import make_throw_away_pair
from clientgo.util.clock import Clock

TOKEN_TIME: Final = 60.0
ALLOWED_TIME: Final = 300.0
DENIED_TIME: Final = 30.0
REVIEW_TIMEOUT: Final = 10.0
"""Seconds."""

_REMEMBERED: Final = 1000

_UNKNOWN: Final = Response(401, b"Unauthorized\n")
_REFUSED: Final = Response(403, b"Forbidden\n")
_UNDECIDED: Final = Response(500, b"whether this may be shown is not known\n")

V = TypeVar("V")

_log = logging.getLogger("clientgo.operator.metrics")


class MetricsAccess:
    """Asks the API server of ``client`` about readers. Thread-safe."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = Client(replace(client.config, timeout=REVIEW_TIMEOUT))
        self._users: _Memory[UserInfo | None] = _Memory(clock)
        self._rights: _Memory[bool] = _Memory(clock)

    def guarded(self, handler: Handler) -> Handler:
        """Return the handler with a check of the reader before it."""

        def respond(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not token:
                return _UNKNOWN
            try:
                user = self._user_of(token.strip())
                if user is None:
                    return _UNKNOWN
                return handler(request) if self._may_get(user, request.path) else _REFUSED
            except (DecodeError, StatusError, TransportError) as error:
                _log.warning("who reads %s could not be found out: %s", request.path, error)
                return _UNDECIDED

        return respond

    def close(self) -> None:
        self._client.close()

    def _user_of(self, token: str) -> UserInfo | None:
        def ask() -> tuple[UserInfo | None, float]:
            review = TokenReview(spec=TokenReviewSpec(token=token))
            status = self._client.resource(TokenReview).create(review).status
            return (status.user if status.authenticated else None), TOKEN_TIME

        return self._users.get(hashlib.sha256(token.encode()).digest(), ask)

    def _may_get(self, user: UserInfo, path: str) -> bool:
        def ask() -> tuple[bool, float]:
            review = SubjectAccessReview(
                spec=SubjectAccessReviewSpec(
                    user=user.username,
                    groups=user.groups,
                    uid=user.uid,
                    extra=user.extra,
                    non_resource_attributes=NonResourceAttributes(path=path, verb="get"),
                )
            )
            allowed = self._client.resource(SubjectAccessReview).create(review).status.allowed
            return allowed, ALLOWED_TIME if allowed else DENIED_TIME

        return self._rights.get((user.username, tuple(user.groups or ()), path), ask)


def tls_of(directory: str | None, clock: Clock) -> Callable[[], ssl.SSLContext]:
    """Return the TLS settings of the files in a directory, or of a certificate made here.

    Raises ``ConfigError`` for files that cannot be used.
    """
    if directory is not None:
        certificate = ServingCertificate.in_directory(Path(directory), clock=clock)
        try:
            certificate.load()
        except CertificateError as error:
            raise ConfigError(f"metrics_cert_dir: {error}") from error
        return certificate.context
    with tempfile.TemporaryDirectory() as made:
        own = ServingCertificate.in_directory(Path(made), clock=clock)
        _authority, pair = make_throw_away_pair(["localhost", "127.0.0.1"], now=clock.time())
        own.install(pair)
        context = own.context()
    return lambda: context


class _Memory(Generic[V]):
    """Answers, each kept while it is valid; at the limit the oldest go."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: LRUCache[Hashable, tuple[V, float]] = LRUCache(_REMEMBERED)

    def get(self, question: Hashable, ask: Callable[[], tuple[V, float]]) -> V:
        """Return the answer; ``ask`` returns it with the seconds for which it is valid."""
        now = self._clock.monotonic()
        with self._lock:
            known = self._answers.get(question)
        if known is not None and now < known[1]:
            return known[0]
        answer, seconds = ask()
        with self._lock:
            self._answers.put(question, (answer, now + seconds))
        return answer
