"""What other programs need to check the tokens of service accounts: OpenID Connect discovery.

Upstream: ``pkg/serviceaccount/openidmetadata.go`` and ``pkg/routes/openidmetadata.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.auth.authentication.service_accounts import (
    ServiceAccountTokens,
    discovery_document,
)
from clientgo.testcluster.server.http.messages import Request, Response, json_response
from clientgo.testcluster.server.resources.errors import method_not_allowed

_DOCUMENT = "/.well-known/openid-configuration"
_KEYS = "/openid/v1/jwks"

OPENID_PATHS = (_DOCUMENT, _KEYS)


def answer_openid(accounts: ServiceAccountTokens, request: Request) -> Response | None:
    """Answer the discovery document or the public keys; return None for another path."""
    if request.path not in OPENID_PATHS:
        return None
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    if request.path == _KEYS:
        response = json_response(accounts.jwks())
        response.content_type = "application/jwk-set+json"
    else:
        response = json_response(discovery_document(_url(request)))
    response.headers.append(("cache-control", "public, max-age=3600"))
    return response


def _url(request: Request) -> str:
    """Return the address by which the client reaches the server."""
    connection = request.connection
    is_tls = connection is not None and connection.get_extra_info("ssl_object") is not None
    return f"{'https' if is_tls else 'http'}://{request.headers.get('host', '')}"
