"""Impersonation: a user acts as another one, if it may.

Promises: the constrained modes are tried first, each for the users that it is for. They need the
verb ``impersonate-on:MODE:VERB`` of the request itself, and ``impersonate:MODE`` of each name, uid,
group and extra that the request asks for. Then the old way is tried, the verb ``impersonate`` of
each. A refusal is that of the mode with which the user was successful last, or of the first one.

Differs from upstream (apiserver ``endpoints/filters/impersonation``): nothing is allowed for a
while because it was allowed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from clientgo.testcluster.server.auth.authorization.authorizer import Attributes, Authorizer
from clientgo.testcluster.server.auth.authorization.refusals import AccessDeniedError
from clientgo.testcluster.server.auth.users import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODES,
    UNAUTHENTICATED,
    User,
    node_of,
    service_account_groups,
    split_node,
    split_service_account,
)
from clientgo.testcluster.server.resources.errors import bad_request
from clientgo.testcluster.server.resources.names import DNS_SUBDOMAIN
from clientgo.util.text.percent_encoding import as_utf8, unescape

_USER = "impersonate-user"
_GROUP = "impersonate-group"
_UID = "impersonate-uid"
_EXTRA = "impersonate-extra-"

_AUTHENTICATION_GROUP = "authentication.k8s.io"

_MANY: Final = 4
"""Groups, or values of extra, for which the right to all of them is looked for first."""

_KEPT_USERS: Final = 10_000
"""Users whose last successful mode is kept."""

Headers = Iterable[tuple[bytes, bytes]]


class _Mode(NamedTuple):
    name: str
    """Empty for the old way, which has other verbs."""
    applies: Callable[[User, User], bool]
    """Return True if the mode is for a user that is asked for, and for who asks."""

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _is_name_alone(asked: User) -> bool:
    return not (asked.uid or asked.groups or asked.extra)


def _is_own_node(asked: User, requestor: User) -> bool:
    node = split_node(asked.name)
    is_account = split_service_account(requestor.name) is not None
    return _is_name_alone(asked) and is_account and bool(node) and node_of(requestor) == node


def _is_node(asked: User, _: User) -> bool:
    return _is_name_alone(asked) and split_node(asked.name) is not None


def _is_account(asked: User, _: User) -> bool:
    return _is_name_alone(asked) and split_service_account(asked.name) is not None


def _is_other(asked: User, _: User) -> bool:
    return split_node(asked.name) is None and split_service_account(asked.name) is None


_ASSOCIATED_NODE: Final = "associated-node"

_MODES: Final = (
    _Mode(_ASSOCIATED_NODE, _is_own_node),
    _Mode("arbitrary-node", _is_node),
    _Mode("serviceaccount", _is_account),
    _Mode("user-info", _is_other),
    _Mode("", lambda _asked, _requestor: True),
)


class Impersonation:
    """Finds as which user a request acts. On the server's event loop only."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._last: dict[str, _Mode] = {}
        """The mode with which a user was successful last, by its name."""

    def user_of(self, request: Attributes, headers: Headers) -> User:
        """Return the user as which a request acts; its own user if the headers name no other.

        Raises:
            FailedRequestError: 403, the user may not; 400, there are groups without a user.
        """
        asked = _parse(headers)
        if asked is None:
            return request.user
        last = self._last.get(request.user.name)
        refusals: list[AccessDeniedError] = []
        for mode in sorted(_MODES, key=lambda mode: mode is not last):
            if not mode.applies(asked, request.user):
                continue
            try:
                self._check(mode, asked, request)
            except AccessDeniedError as error:
                refusals.append(error)
                continue
            self._keep(request.user.name, mode)
            return _complete(asked, mode)
        raise refusals[0]

    def _keep(self, name: str, mode: _Mode) -> None:
        if len(self._last) >= _KEPT_USERS:
            self._last.clear()
        self._last[name] = mode

    def _check(self, mode: _Mode, asked: User, request: Attributes) -> None:
        """Refuse what a mode does not allow.

        Raises:
            AccessDeniedError: the first of it.
        """
        if mode.name:
            self._require(replace(request, verb=f"impersonate-on:{mode.name}:{request.verb}"))
        for wanted in _wanted(mode, asked, request.user):
            if not (mode.name and len(wanted) >= _MANY and self._allows_every(wanted[0])):
                for attributes in wanted:
                    self._require(attributes)

    def _allows_every(self, attributes: Attributes) -> bool:
        subresource = "*" if attributes.subresource else ""
        every = replace(attributes, name="*", subresource=subresource)
        return self._authorizer.authorize(every).allowed

    def _require(self, attributes: Attributes) -> None:
        decision = self._authorizer.authorize(attributes)
        if not decision.allowed:
            raise AccessDeniedError(attributes, decision.reason)


def _parse(headers: Headers) -> User | None:
    """Return the user that headers name.

    Raises:
        FailedRequestError: 400, they name more, and no user.
    """
    sent = [
        (name.decode("latin-1"), value.decode(errors="replace"))
        for name, value in headers
        if name.startswith(b"impersonate-")
    ]
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in sent:
        if header.startswith(_EXTRA):
            key = as_utf8(unescape(header.removeprefix(_EXTRA)))
            extra[key] = (*extra.get(key, ()), value)
    name = next((value for header, value in sent if header == _USER), "")
    uid = next((value for header, value in sent if header == _UID), "")
    groups = tuple(value for header, value in sent if header == _GROUP)
    if name:
        return User(name, uid, groups, extra)
    if uid or groups or extra:
        raise bad_request("requested a uid, groups or extra without impersonating a user name")
    return None


def _wanted(mode: _Mode, asked: User, requestor: User) -> Iterator[list[Attributes]]:
    """Yield what the user must be authorized to do, by kind.

    Raises:
        AccessDeniedError: a constrained mode allows this to no user.
    """

    def attributes(group: str, resource: str, name: str = "", **more: str) -> Attributes:
        return Attributes(requestor, mode.verb, group, "v1", resource, name=name, **more)

    own = _AUTHENTICATION_GROUP if mode.name else ""
    if account := split_service_account(asked.name):
        namespace, name = account
        yield [attributes(own, "serviceaccounts", name, namespace=namespace)]
    elif mode.name and (node := split_node(asked.name)):
        yield [attributes(own, "nodes", "*" if mode.name == _ASSOCIATED_NODE else node)]
    else:
        yield [attributes(own, "users", asked.name)]
    if asked.uid:
        yield [attributes(_AUTHENTICATION_GROUP, "uids", asked.uid)]
    if mode.name and (why := _group_problem(asked)):
        name = MASTERS if MASTERS in why else ""
        raise AccessDeniedError(attributes(own, "groups", name), why)
    if asked.groups:
        yield [attributes(own, "groups", group) for group in asked.groups]
    if mode.name and (why := _extra_problem(asked)):
        raise AccessDeniedError(attributes(_AUTHENTICATION_GROUP, "userextras"), why)
    if asked.extra:
        yield [
            attributes(_AUTHENTICATION_GROUP, "userextras", value, subresource=key)
            for key, values in asked.extra.items()
            for value in values
        ]


def _group_problem(asked: User) -> str:
    if "" in asked.groups:
        return "impersonating the empty string group is not allowed"
    return f"impersonating the {MASTERS} group is not allowed" if MASTERS in asked.groups else ""


def _extra_problem(asked: User) -> str:
    for key, values in asked.extra.items():
        domain, _, path = key.partition("/")
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if not path or DNS_SUBDOMAIN.problems(domain):
            return (
                f"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "
                f'"{key}": must be a domain-prefixed path (such as "acme.io/foo")'
            )
        if key != key.lower():
            return f'impersonating a non-lowercase key in extra is not allowed: "{key}"'
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _complete(asked: User, mode: _Mode) -> User:
    """Return the user with the groups that it has by its kind."""
    groups = asked.groups
    if not groups and (account := split_service_account(asked.name)):
        groups = service_account_groups(account[0])
    elif mode.name and split_node(asked.name):
        groups = (NODES,)
    if asked.name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(asked.name, asked.uid, groups, asked.extra)
