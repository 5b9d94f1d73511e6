"""RBAC: roles and bindings decide.

Promises: a decision follows the roles and bindings that are stored now. What a user is granted is
kept until a role or binding changes, and what was decided for a verb of a resource with it, so that
a request costs two lookups and no scan. Members of ``system:masters`` may do everything.

Upstream: ``plugin/pkg/auth/authorizer/rbac`` and ``pkg/registry/rbac/validation``, which read every
binding for each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes, Decision
from clientgo.testcluster.server.auth.authorization.rules import RBAC_GROUP, PolicyRule
from clientgo.testcluster.server.auth.users import MASTERS, User, service_account_name
from clientgo.testcluster.server.storage.storage import Change, Collection, Storage

_KEPT_USERS: Final = 512
_KEPT_DECISIONS: Final = 256
"""Users with a namespace, and requests of each, whose result is kept."""

_LONGEST_KEPT: Final = 1024
"""Characters of a request or user whose result is kept; requests choose them."""

_Subject = tuple[str, str]
"""``User`` or ``Group``, and its name. A service account is a user."""


class _Binding(NamedTuple):
    """A binding of a subject to a role."""

    role: tuple[str, str, str]
    """Kind, namespace and name."""
    origin: str
    """The binding, for the reason of a decision."""


class RoleNotFoundError(LookupError):
    """A binding refers to a role that does not exist."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind.lower()}.{RBAC_GROUP} "{name}" not found')
        self.kind = kind
        self.name = name


class _Grants(msgspec.Struct):
    """What a user is granted in a namespace, or everywhere."""

    rules: list[tuple[PolicyRule, str]] = []
    """Rules, and the binding that each is from."""
    errors: list[str] = []
    decisions: dict[tuple[str, ...], tuple[tuple[tuple[str, ...], str], ...]] = {}
    """By verb and resource: the names that are allowed (none: every name), and the binding."""

    def origin(self, attributes: Attributes) -> str | None:
        """Return the binding that allows a request; None if no binding does."""
        key = (
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            attributes.path,
        )
        found = self.decisions.get(key)
        if found is None:
            found = tuple(self._matching(attributes))
            _keep(self.decisions, key, found, sum(map(len, key)), _KEPT_DECISIONS)
        for names, origin in found:
            if not names or attributes.name in names:
                return origin
        return None

    def _matching(self, wanted: Attributes) -> Iterator[tuple[tuple[str, ...], str]]:
        for rule, origin in self.rules:
            if wanted.path:
                if rule.allows_path(wanted.verb, wanted.path):
                    yield (), origin
            elif rule.allows_resource(
                wanted.verb, wanted.group, wanted.resource, wanted.subresource
            ):
                yield rule.names, origin


class RBAC:
    """Decides by the roles and bindings in a storage. On the server's event loop only."""

    def __init__(self, storage: Storage) -> None:
        """Follow the roles and bindings."""
        self._roles: dict[tuple[str, str, str], tuple[PolicyRule, ...]] = {}
        """Rules by kind, namespace and name of the role."""
        self._bindings: dict[str, dict[_Subject, dict[str, _Binding]]] = {}
        """By namespace (none: everywhere), subject, and name of the binding."""
        self._granted: dict[tuple[str, tuple[str, ...], str], _Grants] = {}
        storage.observe(self._observe, *((RBAC_GROUP, plural) for plural in _PLURALS))

    # -- decisions

    def authorize(self, attributes: Attributes) -> Decision:
        """Decide by the rules of the user; a refusal names the roles that are missing."""
        user = attributes.user
        if MASTERS in user.groups:
            return Decision(True)
        errors: list[str] = []
        for namespace in ("", attributes.namespace) if attributes.namespace else ("",):
            grants = self._grants(user, namespace)
            origin = grants.origin(attributes)
            if origin is not None:
                return Decision(True, f"RBAC: allowed by {origin}")
            errors += grants.errors
        return Decision(False, _reason(errors))

    def rules_of(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[str]]:
        """Return what a user may do in a namespace, and which roles are missing."""
        found: list[PolicyRule] = []
        errors: list[str] = []
        for place in ("", namespace) if namespace else ("",):
            grants = self._grants(user, place)
            found += [rule for rule, _ in grants.rules]
            errors += grants.errors
        return found, errors

    def rules_of_role(self, kind: str, namespace: str, name: str) -> tuple[PolicyRule, ...]:
        """Return the rules of a role or cluster role.

        Raises:
            RoleNotFoundError: it does not exist.
        """
        rules = self._roles.get(_role_key(kind, namespace, name))
        if rules is None:
            raise RoleNotFoundError(kind, name)
        return rules

    def _grants(self, user: User, namespace: str) -> _Grants:
        bound = self._bindings.get(namespace)
        if not bound:
            return _Grants()
        key = (user.name, user.groups, namespace)
        grants = self._granted.get(key)
        if grants is None:
            grants = self._collect(user, bound)
            length = len(user.name) + sum(map(len, user.groups))
            _keep(self._granted, key, grants, length, _KEPT_USERS)
        return grants

    def _collect(self, user: User, bound: dict[_Subject, dict[str, _Binding]]) -> _Grants:
        grants = _Grants()
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        found: dict[str, _Binding] = {}
        for subject in subjects:
            for name, binding in bound.get(subject, {}).items():
                found.setdefault(name, binding)
        for name in sorted(found):
            role, origin = found[name]
            try:
                rules = self.rules_of_role(*role)
            except RoleNotFoundError as error:
                grants.errors.append(str(error))
            else:
                grants.rules += [(rule, origin) for rule in rules]
        return grants

    # -- following the storage

    def _observe(self, collection: Collection, change: Change) -> None:
        namespace, _, name = change.current.key.rpartition("/")
        gone = change.type is EventType.DELETED
        match collection.plural:
            case "roles" | "clusterroles":
                role = _role_key(_KINDS[collection.plural], namespace, name)
                if gone:
                    self._roles.pop(role, None)
                else:
                    rules = change.current.decode().get("rules") or ()
                    self._roles[role] = tuple(map(PolicyRule.parse, rules))
            case "rolebindings" | "clusterrolebindings":
                if change.previous is not None:
                    self._unbind(namespace, name, change.previous.decode())
                if not gone:
                    self._bind(namespace, name, change.current.decode())
        self._granted.clear()

    def _bind(self, namespace: str, name: str, binding: dict[str, Any]) -> None:
        bound = self._bindings.setdefault(namespace, {})
        ref = binding["roleRef"]
        role = _role_key(ref["kind"], namespace, ref["name"])
        for subject, shown in _subjects(binding, namespace):
            place = f"{name}/{namespace}" if namespace else name
            origin = f'{binding["kind"]} "{place}" of {ref["kind"]} "{ref["name"]}" to {shown}'
            bound.setdefault(subject, {}).setdefault(name, _Binding(role, origin))

    def _unbind(self, namespace: str, name: str, binding: dict[str, Any]) -> None:
        bound = self._bindings.get(namespace, {})
        for subject, _ in _subjects(binding, namespace):
            named = bound.get(subject, {})
            named.pop(name, None)
            if not named:
                bound.pop(subject, None)
        if not bound:
            self._bindings.pop(namespace, None)


K = TypeVar("K")
V = TypeVar("V")


def _keep(kept: dict[K, V], key: K, value: V, length: int, most: int) -> None:
    """Keep a result, unless its key is too long; begin again if there are too many."""
    if length > _LONGEST_KEPT:
        return
    if len(kept) >= most:
        kept.clear()
    kept[key] = value


_KINDS: Final = {"roles": "Role", "clusterroles": "ClusterRole"}
_PLURALS: Final = (*_KINDS, "rolebindings", "clusterrolebindings")


def _role_key(kind: str, namespace: str, name: str) -> tuple[str, str, str]:
    return kind, "" if kind == "ClusterRole" else namespace, name


def _subjects(binding: dict[str, Any], namespace: str) -> Iterator[tuple[_Subject, str]]:
    """Yield the subjects of a binding, and how a reason shows each."""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "ServiceAccount":
            place = subject.get("namespace") or namespace
            if place:
                yield ("User", service_account_name(place, name)), f'{kind} "{name}/{place}"'
        elif kind in ("User", "Group"):
            yield (kind, name), f'{kind} "{name}"'


def _reason(errors: Iterable[str]) -> str:
    """Return several errors as one reason, each once."""
    shown = list(dict.fromkeys(errors))
    if not shown:
        return ""
    return f"RBAC: {shown[0]}" if len(shown) == 1 else f"RBAC: [{', '.join(shown)}]"
