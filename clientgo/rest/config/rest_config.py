"""How to reach an API server: one immutable value.

Promises that a bad value raises :class:`ConfigError` immediately, and that no text form shows a
secret. `loading.py` reads the value from a kubeconfig, a service account or a URL.

Differs from client-go (`rest` Config): reads have a time limit by default. An API server ends a
plain request after 60 seconds, so a longer silence means a lost server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final
from urllib.parse import unquote, urlsplit

from clientgo.observe.metrics import MetricsProvider
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import ANONYMOUS, Credentials, with_basic_auth
from clientgo.rest.config.proxies import checked_proxy, proxy_for
from clientgo.rest.config.user_agent import default_user_agent
from clientgo.rest.server_warnings import WarningHandler
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.flowcontrol import RateLimiter

__all__ = ["ConfigError", "Impersonation", "RestConfig", "TLSSettings"]

DEFAULT_BURST: Final = 10
DEFAULT_NAMESPACE: Final = "default"
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TLSSettings:
    """How the server proves who it is. Without a CA the system's own are trusted.

    ``server_name`` is expected in the certificate instead of the host name; ``insecure`` trusts
    every server. ``strict`` has each certificate checked against RFC 5280, as Python does by
    itself since 3.13; it is off because the CAs of some clusters do not pass, and Go has no such
    check.
    """

    ca_file: str = ""
    ca_data: str = ""
    server_name: str = ""
    insecure: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """Act as another user; the credentials must be allowed to ``impersonate``.

    Raises :class:`ConfigError` without a user, and for what no header can carry.
    """

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user:
            raise ConfigError("nobody is impersonated", advice="name the user to act as")
        values = (self.user, self.uid, *self.groups, *chain.from_iterable(self.extra.values()))
        if _CONTROLS.search("".join(values)):
            raise ConfigError(
                f"the impersonation of {self.user!r} has line breaks or control characters",
                advice="remove them from its user, uid, groups and extra",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestConfig:
    """How to reach an API server. Durations are seconds.

    By default the client does not limit its requests: the API server's priority and fairness
    protects the server, and its 429 answers are honoured. A positive ``qps`` limits requests per
    second, with bursts of ``burst`` (0 means 10). An explicit ``limiter`` wins over both.

    ``timeout`` bounds a plain request with all its retries (0: no bound), ``read_timeout`` any
    silence of the server within one. A watch may be silent for ``watch_idle_timeout`` (None: as
    long as it lasts); once the server should have ended it, it gets ``watch_grace`` more.
    ``proxy`` is the URL of a proxy, empty for none; by default it is looked up in the environment,
    once, as Go does, and then reads as what was found: to :func:`dataclasses.replace` the server,
    pass ``proxy=None`` too. A user name and password in the server's URL beat a token, as in Go.

    ``namespace`` is that of the kubeconfig's context, or of the pod. It is for the program to use:
    clients ask in the namespaces that they are told.

    ``clock`` times the limiter and the pauses between attempts. Requests are counted in
    ``metrics``, or in the process's default provider.

    Raises :class:`ConfigError` for a server that is no URL. Upstream: client-go ``rest`` Config.
    """

    server: str
    credentials: Credentials = field(default=ANONYMOUS)
    tls: TLSSettings = field(default_factory=TLSSettings)
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    impersonate: Impersonation | None = None
    namespace: str = DEFAULT_NAMESPACE
    user_agent: str = field(default_factory=default_user_agent)
    qps: float = 0.0
    burst: int = 0
    limiter: RateLimiter | None = None
    timeout: float = 0.0
    connect_timeout: float = 30.0
    read_timeout: float = 90.0
    watch_idle_timeout: float | None = None
    watch_grace: float = 30.0
    max_idle_connections: int = 100
    disable_compression: bool = False
    warning_handler: WarningHandler | None = None
    clock: Clock = field(default=REAL_CLOCK, repr=False)
    metrics: MetricsProvider | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        server, userinfo = _server_url(self.server)
        object.__setattr__(self, "server", server)
        if userinfo:
            credentials = with_basic_auth(self.credentials, *userinfo)
            object.__setattr__(self, "credentials", credentials)
        proxy = proxy_for(server) if self.proxy is None else checked_proxy(self.proxy)
        object.__setattr__(self, "proxy", proxy)


def _server_url(server: str) -> tuple[str, tuple[str, str] | None]:
    """The URL in full, and the user name and password that it had.

    A bare ``host:port`` is plain HTTP, as for kubectl.
    """
    url = server if "://" in server else f"http://{server}"
    shown = "what stands for the server" if "@" in server else repr(server)
    advice = "write it like https://host:6443"
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        reason = "" if "@" in server else f": {error}"
        raise ConfigError(f"{shown} is no URL{reason}", advice=advice) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"{shown} is no URL of an API server", advice=advice)
    if re.search(r"[\s\x00-\x1f\x7f]", server):
        raise ConfigError(f"{shown} has white space", advice=advice)
    if parts.query or parts.fragment:
        raise ConfigError(f"{shown} has a query or fragment", advice=advice)
    userinfo, _, address = parts.netloc.rpartition("@")
    name, _, password = userinfo.partition(":")
    url = parts._replace(netloc=address).geturl().rstrip("/")
    return url, (unquote(name), unquote(password)) if userinfo else None
