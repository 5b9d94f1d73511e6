"""ID tokens of an OpenID Connect issuer: the `oidc` auth-provider of a kubeconfig.

Promises: the id-token is used until ten seconds before it expires; then, or after a 401, one for
all requests is asked for with the refresh-token. The issuer's certificate is always verified, and
no secret is sent to it over plain HTTP, except to this machine. No message shows a token.

Differs from client-go (`plugin/pkg/client/auth/oidc`), which does not renew after a 401 and writes
new tokens into the kubeconfig; here they stay in memory.
"""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote_plus, unquote, urlencode, urlsplit

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from clientgo.meta.decoding import decode
from clientgo.rest.config.auth.exec_process import one_line
from clientgo.rest.config.auth.renewed import Fresh, RenewedCredentials
from clientgo.rest.config.auth.token_file import bearer
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.proxies import is_loopback, proxy_for
from clientgo.util.certificates import NoCertificateError, client_context
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.wait import StopEvent

_EXPIRY_DELTA: Final = 10.0
_TIMEOUT: Final = 10.0
_LONGEST: Final = 1 << 20
_PIECE: Final = 1 << 12
_LOG_IN: Final = "log in again, as with 'kubectl oidc-login' or the tool that wrote the kubeconfig"


class _Claims(msgspec.Struct):
    exp: float = 0.0


class _Metadata(msgspec.Struct):
    token_endpoint: str = ""


class _Tokens(msgspec.Struct):
    id_token: str | None = None
    refresh_token: str | None = None


class _Problem(msgspec.Struct):
    error: str = ""
    error_description: str = ""


def oidc_credentials(
    config: Mapping[str, str],
    identity: Identity,
    *,
    clock: Clock = REAL_CLOCK,
) -> RenewedCredentials:
    """Return the credentials of an auth-provider's config; raises :class:`ConfigError`.

    ``identity`` has the certificate that goes along.
    """
    provider = _Provider(config, identity)
    token = config.get("id-token")
    fresh = provider.identity_of(token) if token else None
    return RenewedCredentials(
        provider.renew, f"the OIDC issuer {provider.issuer}", fresh, clock=clock
    )


class _Provider:
    """The state of an auth-provider; used by one thread at a time."""

    def __init__(self, config: Mapping[str, str], identity: Identity) -> None:
        for name in ("idp-issuer-url", "client-id"):
            if not config.get(name):
                raise ConfigError(f"the oidc auth-provider has no {name}", advice="add it")
        self.issuer = config["idp-issuer-url"].rstrip("/")
        _check_url(self.issuer, "idp-issuer-url")
        self._client_id = config["client-id"]
        self._client_secret = config.get("client-secret", "")
        self._refresh_token = config.get("refresh-token", "")
        self._tls = _tls(config)
        self._identity = identity
        self._secret_in_header = bool(self._client_secret)

    def identity_of(self, token: str) -> Fresh:
        authorization = bearer(token, "the auth-provider")
        return Fresh(
            replace(self._identity, authorization=authorization), _expiry(token) - _EXPIRY_DELTA
        )

    def renew(self, _abandoned: StopEvent) -> Fresh:
        """Ask for new tokens. Not abandoned halfway: the old refresh-token may be used up then."""
        if not self._refresh_token:
            raise ConfigError(
                "the id-token has expired, and there is no refresh-token", advice=_LOG_IN
            )
        status, body = self._send("GET", f"{self.issuer}/.well-known/openid-configuration", {})
        if status != 200:
            raise self._failed(f"answered {status} to the request for its metadata")
        try:
            endpoint = decode(body, _Metadata).token_endpoint
        except (msgspec.DecodeError, RecursionError):
            endpoint = ""
        if not endpoint:
            raise self._failed("gave no metadata with a token_endpoint")
        _check_url(endpoint, "the token_endpoint of the OIDC issuer")
        return self._use(self._tokens(endpoint))

    def _use(self, tokens: _Tokens) -> Fresh:
        if tokens.refresh_token:
            self._refresh_token = tokens.refresh_token
        if not tokens.id_token:
            raise self._failed(
                "gave no id_token",
                'ask for the scope "openid" when you log in, if it supports this',
            )
        return self.identity_of(tokens.id_token)

    def _tokens(self, endpoint: str) -> _Tokens:
        """Ask the endpoint, with the client's secret in a header, then in a field, as Go does."""
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        if self._secret_in_header:
            pair = f"{quote_plus(self._client_id)}:{quote_plus(self._client_secret)}"
            headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
            status, body = self._send("POST", endpoint, headers, form)
            self._secret_in_header = not 400 <= status < 500
        if not self._secret_in_header:
            form["client_id"] = self._client_id
            if self._client_secret:
                form["client_secret"] = self._client_secret
            status, body = self._send("POST", endpoint, {}, form)
        if status != 200:
            raise self._failed(f"gave no new token: {self._problem(status, body)}", _LOG_IN)
        try:
            return decode(body, _Tokens)
        except (msgspec.DecodeError, RecursionError):  # the cause might show a token
            raise self._failed("gave an answer to the refresh-token that is none") from None

    def _problem(self, status: int, body: bytes) -> str:
        """Return what the issuer says in its error, without what it may repeat of the request."""
        try:
            problem = decode(body, _Problem)
        except (msgspec.DecodeError, RecursionError):
            return f"HTTP {status}"
        text = f"{problem.error} {problem.error_description}"
        for secret in filter(None, (self._refresh_token, self._client_secret)):
            text = text.replace(secret, "...")
        return one_line(text[:300]) or f"HTTP {status}"

    def _send(
        self, method: str, url: str, headers: dict[str, str], form: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the body of an answer, within limits; follows no redirect."""
        headers = headers | {"Accept": "application/json"}
        body = None
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(form)
        try:
            with self._pools(url) as pools:
                response = pools.urlopen(
                    method,
                    url,
                    body=body,
                    headers=headers,
                    redirect=False,
                    retries=False,
                    timeout=_TIMEOUT,
                    preload_content=False,
                )
                return response.status, self._read(response)
        except (HTTPError, OSError) as error:
            raise self._failed(f"cannot be asked: {_reason(error)}") from error

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        body = b""
        deadline = time.monotonic() + _TIMEOUT
        while piece := response.read(_PIECE):
            body += piece
            if len(body) > _LONGEST or time.monotonic() > deadline:
                raise self._failed("gave too long an answer")
        return body

    def _pools(self, url: str) -> urllib3.PoolManager:
        proxy = proxy_for(url)
        if not proxy:
            return urllib3.PoolManager(ssl_context=self._tls)
        user = urlsplit(proxy)
        headers = {}
        if user.username is not None:
            pair = f"{unquote(user.username)}:{unquote(user.password or '')}"
            headers = urllib3.make_headers(proxy_basic_auth=pair)
        return urllib3.ProxyManager(proxy, proxy_headers=headers, ssl_context=self._tls)

    def _failed(
        self, problem: str, advice: str = "check idp-issuer-url and idp-certificate-authority"
    ) -> ConfigError:
        return ConfigError(f"the OIDC issuer {self.issuer} {problem}", advice=advice)


def _reason(error: BaseException) -> str:
    """Return the text of the first error; those above repeat addresses, of a proxy too."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return (error.strerror if isinstance(error, OSError) else None) or one_line(str(error))


def _expiry(token: str) -> float:
    """Return when a JWT expires, as Unix seconds; 0 if it does not say."""
    try:
        _header, payload, _signature = token.split(".")
        claims = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        return decode(claims, _Claims).exp
    except (ValueError, RecursionError):  # the cause might show the token
        raise ConfigError("the id-token is no JWT with a time of expiry", advice=_LOG_IN) from None


def _tls(config: Mapping[str, str]) -> ssl.SSLContext:
    path = config.get("idp-certificate-authority") or ""
    ca = None
    try:
        if encoded := config.get("idp-certificate-authority-data"):
            path, ca = "", base64.b64decode(encoded, validate=True).decode("latin-1")
        elif path:
            with open(path, encoding="latin-1") as file:
                ca = file.read()
        return client_context(ca)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not base64"
        if isinstance(error, NoCertificateError):
            reason = str(error)
        raise ConfigError(
            f"the certificate authority of the OIDC issuer cannot be used: {reason}",
            path=path,
            advice="correct idp-certificate-authority or idp-certificate-authority-data",
        ) from error


def _check_url(url: str, what: str) -> None:
    advice = "write it like https://issuer.example"
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise ConfigError(f"{what} is no URL: {one_line(url[:200])}", advice=advice)
    if parts.scheme == "http" and not is_loopback(url):
        raise ConfigError(
            f"{what} is plain HTTP, where secrets are not sent: {one_line(url[:200])}",
            advice=advice,
        )
