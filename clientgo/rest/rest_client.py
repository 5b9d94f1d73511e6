"""A client of one API group and version, which builds requests.

Clients of one server and configuration share connections, and may share a rate limiter. Source:
client-go `rest` RESTClient, RESTClientFor.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

from urllib3 import HTTPHeaderDict

from clientgo.meta import GroupVersion
from clientgo.observe.metrics import MetricsProvider, default_provider
from clientgo.rest.config.rest_config import (
    DEFAULT_BURST,
    ConfigError,
    Impersonation,
    RestConfig,
)
from clientgo.rest.requests.request import Request
from clientgo.rest.requests.request_metrics import RequestMetrics
from clientgo.rest.requests.shared_parts import SharedParts
from clientgo.rest.requests.throttling import ThrottlingLog
from clientgo.rest.transport.exchange import Headers, Transport
from clientgo.rest.transport.http_transport import HTTPTransport
from clientgo.rest.transport.traced import traced_transport
from clientgo.util.copies import uncopyable
from clientgo.util.flowcontrol import RateLimiter, TokenBucketRateLimiter

_HEADER_CHARACTERS = "!#$&'*+-.^_`|~"
"""What may stand in a header's name as it is; the rest is escaped with percent signs."""


def limiter_of(config: RestConfig) -> RateLimiter | None:
    """Return the rate limiter of a configuration, or None."""
    if config.limiter is not None:
        return config.limiter
    if config.qps <= 0:
        return None
    return TokenBucketRateLimiter(config.qps, config.burst or DEFAULT_BURST, clock=config.clock)


def shared_limiter_of(config: RestConfig) -> RateLimiter | None:
    """The rate limiter for everything that a program sends; a rate then needs a burst.

    Raises :class:`ConfigError`.
    """
    if config.limiter is None and config.qps > 0 and config.burst <= 0:
        raise ConfigError(
            f"a rate of {config.qps} requests a second for the whole client needs a burst",
            advice="set burst to a positive number, such as twice the rate",
        )
    return limiter_of(config)


def api_path(group_version: GroupVersion) -> str:
    """Return the path of a group and version: ``/api/v1`` or ``/apis/apps/v1``."""
    return f"/apis/{group_version}" if group_version.group else f"/api/{group_version}"


@uncopyable("it has connections to a server; make one in each process")
class RestClient:
    """Builds and sends requests; thread-safe.

    ``api_path`` is where resources are looked for, such as ``/apis/apps/v1``. Without a
    ``transport`` it has one of its own; ``limiter`` None means that nothing is held back.
    """

    def __init__(
        self,
        config: RestConfig,
        *,
        api_path: str = "",
        transport: Transport | None = None,
        limiter: RateLimiter | None = None,
        metrics: MetricsProvider | None = None,
    ) -> None:
        self.shared = SharedParts(
            config=config,
            api_path=api_path,
            headers=_headers(config),
            transport=transport
            if transport is not None
            else traced_transport(HTTPTransport(config)),
            limiter=limiter,
            throttling=ThrottlingLog(config.clock),
            metrics=RequestMetrics(
                metrics or config.metrics or default_provider(),
                urlsplit(config.server).netloc,
            ),
        )

    @property
    def config(self) -> RestConfig:
        return self.shared.config

    def request(self, method: str) -> Request:
        """Begin a request with any HTTP method."""
        return Request(self.shared, method)

    def get(self) -> Request:
        return Request(self.shared, "GET")

    def post(self) -> Request:
        return Request(self.shared, "POST")

    def put(self) -> Request:
        return Request(self.shared, "PUT")

    def patch(self) -> Request:
        return Request(self.shared, "PATCH")

    def delete(self) -> Request:
        return Request(self.shared, "DELETE")

    def close(self) -> None:
        """Close idle connections, also of others that share the transport."""
        self.shared.transport.close()


def _headers(config: RestConfig) -> Headers:
    """Return the default headers of requests."""
    headers: Headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity" if config.disable_compression else "gzip",
        "User-Agent": config.user_agent,
    }
    if config.impersonate is not None:
        headers = HTTPHeaderDict(headers)
        headers.extend(_impersonation_headers(config.impersonate))
    return headers


def _impersonation_headers(someone: Impersonation) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", _in_utf_8(someone.user)
    if someone.uid:
        yield "Impersonate-Uid", _in_utf_8(someone.uid)
    for group in someone.groups:
        yield "Impersonate-Group", _in_utf_8(group)
    for key, values in someone.extra.items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key, safe=_HEADER_CHARACTERS)}", _in_utf_8(value)


def _in_utf_8(text: str) -> str:
    """Return a header's text so that its bytes are UTF-8, as Go sends it."""
    return text.encode().decode("latin-1")
