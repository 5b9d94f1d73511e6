"""Impersonation: a user acts as another one, if it may.

Promises: each name, group, uid and extra that a request names is authorized by itself, with the
verb ``impersonate``.

Upstream: apiserver ``endpoints/filters/impersonation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from clientgo.apiserver.auth.authorization.authorizer import Attributes, Authorizer
from clientgo.apiserver.auth.authorization.refusals import AccessDeniedError
from clientgo.apiserver.auth.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)
from clientgo.apiserver.resources.errors import internal

_USER = "impersonate-user"
_GROUP = "impersonate-group"
_UID = "impersonate-uid"
_EXTRA = "impersonate-extra-"

_AUTHENTICATION_GROUP = "authentication.k8s.io"

Headers = Iterable[tuple[bytes, bytes]]


def impersonated(user: User, headers: Headers, authorizer: Authorizer) -> User:
    """Return the user as which a request acts; ``user`` if it names no other.

    Raises:
        RequestError: 403, the user may not; 500, there are groups without a user.
    """
    sent = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers
        if name.startswith(b"impersonate-")
    ]
    asked = _parse(sent)
    if asked is None:
        return user
    for attributes in _wanted(user, asked):
        decision = authorizer.authorize(attributes)
        if not decision.allowed:
            raise AccessDeniedError(attributes, decision.reason)
    return _complete(asked)


def _parse(sent: list[tuple[str, str]]) -> User | None:
    """Return the user that headers name."""
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in sent:
        if header.startswith(_EXTRA):
            key = unquote(header.removeprefix(_EXTRA))
            extra[key] = (*extra.get(key, ()), value)
    name = next((value for header, value in sent if header == _USER), "")
    uid = next((value for header, value in sent if header == _UID), "")
    groups = tuple(value for header, value in sent if header == _GROUP)
    if name:
        return User(name, uid, groups, extra)
    if uid or groups or extra:
        raise internal("a group, uid or extra is impersonated without a user")
    return None


def _wanted(user: User, asked: User) -> Iterator[Attributes]:
    """Yield what the user must be authorized to do."""
    verb = "impersonate"
    if account := split_service_account(asked.name):
        namespace, name = account
        yield Attributes(
            user, verb, version="v1", resource="serviceaccounts", namespace=namespace, name=name
        )
    else:
        yield Attributes(user, verb, version="v1", resource="users", name=asked.name)
    for group in asked.groups:
        yield Attributes(user, verb, version="v1", resource="groups", name=group)
    for key, values in asked.extra.items():
        for value in values:
            yield Attributes(
                user, verb, _AUTHENTICATION_GROUP, "v1", "userextras", subresource=key, name=value
            )
    if asked.uid:
        yield Attributes(user, verb, _AUTHENTICATION_GROUP, "v1", "uids", name=asked.uid)


def _complete(asked: User) -> User:
    """Return the user with the groups that it has by its kind."""
    groups = asked.groups
    if not groups and (account := split_service_account(asked.name)):
        groups = service_account_groups(account[0])
    if asked.name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(asked.name, asked.uid, groups, asked.extra)
