"""Tokens of service accounts: signed by the server, bound to objects, limited in time.

Promises: a token is valid for its audiences until it expires, or until its account, or the object
that it is bound to, is deleted. It says so itself (a JSON Web Token, ES256), and other programs can
check it with the published key.

Upstream: ``pkg/serviceaccount`` (``claims.go``, ``jwt.go``, ``openidmetadata.go``).
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from clientgo.meta.decoding import decode
from clientgo.meta.timestamps import parse_time
from clientgo.testcluster.server.auth.users import (
    ACCOUNT_EXTRA,
    User,
    service_account_groups,
    service_account_name,
)
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.testcluster.server.storage.storage import Storage, StoredObject, object_key
from clientgo.util.certificates import SigningKey

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
"""Who issues the tokens; also the audience of the API server itself."""

_LEEWAY: Final = 60.0
"""Seconds by which clocks may differ, as upstream."""

_KEPT: Final = 1024
_LONGEST_KEPT: Final = 8192
"""Tokens whose signature was checked and is not checked again, and their longest, in characters."""

_BOUND: Final = {"pod": ("", "pods"), "secret": ("", "secrets"), "node": ("", "nodes")}
"""Objects that a token can be bound to: their claim and collection."""


class TokenError(ValueError):
    """A token that is not valid; the message says why."""


class Reference(msgspec.Struct, frozen=True):
    """The name and uid of an object that a token is bound to."""

    name: str
    uid: str


class _PrivateClaims(msgspec.Struct, omit_defaults=True):
    namespace: str
    serviceaccount: Reference
    node: Reference | None = None
    pod: Reference | None = None
    secret: Reference | None = None


class _Claims(msgspec.Struct):
    aud: list[str]
    exp: int
    iat: int
    iss: str
    jti: str
    private: _PrivateClaims = msgspec.field(name="kubernetes.io")
    nbf: int
    sub: str


class ServiceAccountTokens:
    """Issues tokens and checks them. On the server's event loop only."""

    def __init__(
        self, storage: Storage, now: Callable[[], float], make_key: Callable[[], SigningKey]
    ) -> None:
        """Sign with the key that ``make_key`` returns, which is called when it is first needed."""
        self._storage = storage
        self._now = now
        self._make_key = make_key
        self._checked: dict[str, _Claims] = {}

    @cached_property
    def _key(self) -> SigningKey:
        return self._make_key()

    # -- issuing

    def issue(
        self,
        namespace: str,
        account: Reference,
        seconds: int,
        audiences: Iterable[str],
        bound: Mapping[str, Reference],
    ) -> str:
        """Return a token of an account that is valid for some seconds.

        ``bound`` are the objects whose deletion ends it, by their claim: pod, secret or node.
        """
        now = int(self._now())
        claims = _Claims(
            aud=list(audiences),
            exp=now + seconds,
            iat=now,
            iss=ISSUER,
            jti=str(uuid.uuid4()),
            private=_PrivateClaims(
                namespace=namespace,
                serviceaccount=account,
                **bound,
            ),
            nbf=now,
            sub=service_account_name(namespace, account.name),
        )
        head = encode({"alg": SigningKey.algorithm, "kid": self._key.id})
        signed = f"{_base64url(head)}.{_base64url(encode(claims))}"
        return f"{signed}.{_base64url(self._key.sign(signed.encode()))}"

    # -- checking

    def is_issued_here(self, token: str) -> bool:
        """Return True if a token names this issuer; it may still be invalid."""
        try:
            return _parse(token).iss == ISSUER
        except TokenError:
            return False

    def user_of(self, token: str, audiences: Iterable[str]) -> tuple[User, tuple[str, ...]]:
        """Return the account of a token, and for which of the audiences the token is.

        Raises:
            TokenError: it is not valid (any more), or for other audiences.
        """
        claims = self._verified(token)
        now = self._now()
        if now - _LEEWAY > claims.exp:
            raise TokenError("service account token has expired")
        if now + _LEEWAY < claims.nbf:
            raise TokenError("service account token is not valid yet")
        common = tuple(audience for audience in audiences if audience in claims.aud)
        if not common:
            raise TokenError(f"the token is for the audiences {', '.join(claims.aud)} only")
        private = claims.private
        account = private.serviceaccount
        self._check_account(private.namespace, account)
        extra = {f"{ACCOUNT_EXTRA}credential-id": (f"JTI={claims.jti}",)}
        for claim in _BOUND:
            reference: Reference | None = getattr(private, claim)
            if reference is None:
                continue
            if claim != "node" or private.pod is None:  # a pod's token only tells its node
                self._check_bound(claim, private.namespace, reference)
            if claim != "secret":
                extra[f"{ACCOUNT_EXTRA}{claim}-name"] = (reference.name,)
                extra[f"{ACCOUNT_EXTRA}{claim}-uid"] = (reference.uid,)
        groups = service_account_groups(private.namespace)
        return User(claims.sub, account.uid, groups, extra), common

    def _verified(self, token: str) -> _Claims:
        """Return the claims of a token that this server has signed."""
        claims = self._checked.get(token)
        if claims is not None:
            return claims
        claims = _parse(token)
        if claims.iss != ISSUER:
            raise TokenError("the token is of another issuer")
        signed, _, signature = token.rpartition(".")
        if not self._key.has_signed(signed.encode(), _decode(signature)):
            raise TokenError("the signature of the token is invalid")
        if len(token) <= _LONGEST_KEPT:
            if len(self._checked) >= _KEPT:
                self._checked.clear()
            self._checked[token] = claims
        return claims

    def _check_account(self, namespace: str, account: Reference) -> None:
        stored = self._find(("", "serviceaccounts"), namespace, account.name)
        if stored is None:
            raise TokenError(f'serviceaccounts "{account.name}" not found')
        if self._is_deleted(stored):
            raise TokenError(f"service account {namespace}/{account.name} has been deleted")
        if stored.uid != account.uid:
            raise TokenError(
                f"service account UID ({stored.uid}) does not match claim ({account.uid})"
            )

    def _check_bound(self, claim: str, namespace: str, reference: Reference) -> None:
        place = "" if claim == "node" else namespace
        stored = self._find(_BOUND[claim], place, reference.name)
        if stored is None or self._is_deleted(stored):
            raise TokenError("service account token has been invalidated")
        if stored.uid != reference.uid:
            raise TokenError(
                f"{claim} UID ({stored.uid}) does not match service account {claim} ref claim "
                f"({reference.uid})"
            )

    def _find(self, key: tuple[str, str], namespace: str, name: str) -> StoredObject | None:
        return self._storage.collection(key).get(object_key(namespace, name))

    def _is_deleted(self, stored: StoredObject) -> bool:
        """Return True if the object's time was over a while ago, though finalizers keep it."""
        if b'"deletionTimestamp"' not in stored.raw:
            return False
        deleted = stored.decode()["metadata"].get("deletionTimestamp")
        return bool(deleted) and parse_time(deleted) < self._now() - _LEEWAY

    # -- publishing

    def jwks(self) -> dict[str, Any]:
        """Return the public keys, as a JSON Web Key Set."""
        return {"keys": [self._key.public_jwk()]}


def discovery_document(url: str) -> dict[str, Any]:
    """Return the OpenID Connect discovery document of a server."""
    return {
        "issuer": ISSUER,
        "jwks_uri": f"{url}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [SigningKey.algorithm],
    }


def _parse(token: str) -> _Claims:
    """Return the claims of a token, whose signature must still be checked.

    Raises:
        TokenError: it is no token of this form.
    """
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenError("the token is no JSON Web Token")
    try:
        return decode(_decode(parts[1]), _Claims)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TokenError("the token has other claims than a service account's") from error


def _decode(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise TokenError("the token is no JSON Web Token") from error


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
