"""No privilege escalation: a user grants only what it may do itself.

Promises: a role or binding is written by a user that holds everything that the role allows, or has
the verb ``escalate`` of the role (``bind`` of the role, for bindings), or is in ``system:masters``.

Differs from upstream (``pkg/registry/rbac/*/policybased``), where this wraps the storage of each
kind: here it is a step of admission, after the webhooks that change the object.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.authorization.rbac import RBAC, RoleNotFoundError
from clientgo.testcluster.server.auth.authorization.refusals import EscalationError
from clientgo.testcluster.server.auth.authorization.rules import (
    EVERYTHING,
    RBAC_GROUP,
    PolicyRule,
    missing_rules,
    quoted,
)
from clientgo.testcluster.server.auth.users import MASTERS, User
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.resources.errors import FailedRequestError, forbidden
from clientgo.testcluster.server.storage.storage import Object

_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})

_PLURALS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}


class RoleEscalation:
    """Checks the writes of roles and bindings."""

    def __init__(self, rbac: RBAC) -> None:
        self._rbac = rbac

    def check(self, review: Review) -> None:
        """Refuse a write that grants what its user does not have.

        Raises:
            FailedRequestError: 403; 404, the role of a binding does not exist.
        """
        obj = review.obj
        if review.resource.group != RBAC_GROUP or obj is None or MASTERS in review.user.groups:
            return
        if review.old is not None and _compared(obj) == _compared(review.old):
            return  # the garbage collector may do that, whatever it may grant
        if review.resource.plural in _ROLES:
            self._check_role(review, obj)
        elif review.resource.plural in _BINDINGS:
            self._check_binding(review, obj)

    def _check_role(self, review: Review, role: Object) -> None:
        # Upstream, a request that creates a role does not name it yet.
        name = review.name if review.old is not None else ""
        escalate = _attributes(review, "escalate", review.resource.plural, name)
        if self._rbac.authorize(escalate).allowed:
            return
        self._check_held(review, map(PolicyRule.parse, role.get("rules") or ()), escalate)
        if _aggregates(role) or _aggregates(review.old or {}):
            held, _ = self._rbac.rules_of(review.user, "")
            if missing_rules(held, EVERYTHING):
                why = "must have cluster-admin privileges to use an aggregationRule"
                raise EscalationError(forbidden(review.resource, review.name, why), escalate)

    def _check_binding(self, review: Review, binding: Object) -> None:
        ref = binding["roleRef"]
        kind, name = ref.get("kind", ""), ref.get("name", "")
        plural = _PLURALS.get(kind)
        if plural is None:
            return  # validation refuses it
        bind = _attributes(review, "bind", plural, name)
        if self._rbac.authorize(bind).allowed:
            return
        try:
            rules = self._rbac.rules_of_role(kind, review.namespace, name)
        except RoleNotFoundError as error:
            details = {"name": name, "group": RBAC_GROUP, "kind": kind.lower()}
            raise FailedRequestError(404, "NotFound", str(error), details) from error
        self._check_held(review, rules, bind)

    def _check_held(
        self, review: Review, wanted: Iterable[PolicyRule], instead: Attributes
    ) -> None:
        held, errors = self._rbac.rules_of(review.user, review.namespace)
        missing = missing_rules(held, wanted)
        if missing:
            why = _escalation(review.user, missing)
            if errors:
                why += f"; resolution errors: [{', '.join(errors)}]"
            raise EscalationError(forbidden(review.resource, review.name, why), instead)


def _attributes(review: Review, verb: str, plural: str, name: str) -> Attributes:
    return Attributes(
        review.user,
        verb,
        RBAC_GROUP,
        review.resource.version,
        plural,
        namespace=review.namespace,
        name=name,
    )


def _escalation(user: User, missing: list[PolicyRule]) -> str:
    lines = "\n".join(sorted(map(str, missing)))
    return (
        f"user {quoted([user.name])[1:-1]} (groups={quoted(user.groups)}) is attempting to grant "
        f"RBAC permissions not currently held:\n{lines}"
    )


def _aggregates(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


_OF_COLLECTION: Final = frozenset({"finalizers", "managedFields", "ownerReferences"})


def _compared(obj: Object) -> Object:
    """Return an object without the metadata that the garbage collector changes."""
    kept = {key: value for key, value in obj["metadata"].items() if key not in _OF_COLLECTION}
    return {**obj, "metadata": kept}
