"""Whether this process may do what leader election needs, asked before it competes.

Promises an error that names the verbs which are missing, instead of a standby that never leads and
says so only in its log. A server that cannot say is taken to allow it.

Source: Java Operator SDK, LeaderElectionManager.
"""

from __future__ import annotations

import logging
from typing import Final

from clientgo.api.authorization_v1 import (
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
)
from clientgo.client import Client
from clientgo.meta import StatusError
from clientgo.operator.errors import ConfigError
from clientgo.rest import TransportError

NEEDED: Final = ("get", "create", "update")

_GROUP: Final = "coordination.k8s.io"

_log = logging.getLogger("clientgo.operator.manager")


def check_lease_permissions(client: Client, namespace: str, name: str) -> None:
    """Raise :class:`~clientgo.operator.errors.ConfigError` for verbs that are missing. Blocks."""
    try:
        missing = _missing(client, namespace, name)
    except (StatusError, TransportError) as error:
        _log.warning("whether lease %s/%s may be used is unknown: %s", namespace, name, error)
        return
    if missing:
        raise ConfigError(
            f"leader election may not {', '.join(missing)} lease {namespace}/{name}: grant "
            f"{', '.join(NEEDED)} (and watch, to take over immediately) on leases.{_GROUP} in "
            f"namespace {namespace}"
        )


def _missing(client: Client, namespace: str, name: str) -> list[str]:
    asked = SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace=namespace))
    status = client.resource(SelfSubjectRulesReview).create(asked).status
    missing = [
        verb
        for verb in NEEDED
        if not any(_allows(rule, verb, name) for rule in status.resource_rules)
    ]
    if not status.incomplete:
        return missing
    return [verb for verb in missing if not _may(client, verb, namespace, name)]


def _allows(rule: ResourceRule, verb: str, name: str) -> bool:
    """Whether a rule grants a verb; what is created has no name that could be granted."""
    names = rule.resource_names
    return (
        _has(rule.verbs, verb)
        and _has(rule.api_groups, _GROUP)
        and _has(rule.resources, "leases")
        and (not names or (verb != "create" and name in names))
    )


def _has(granted: list[str] | None, wanted: str) -> bool:
    return granted is not None and ("*" in granted or wanted in granted)


def _may(client: Client, verb: str, namespace: str, name: str) -> bool:
    """The answer for one verb, where the list of rules is not all."""
    attributes = ResourceAttributes(
        group=_GROUP, resource="leases", verb=verb, namespace=namespace, name=name
    )
    review = SelfSubjectAccessReview(
        spec=SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    )
    return client.resource(SelfSubjectAccessReview).create(review).status.allowed
