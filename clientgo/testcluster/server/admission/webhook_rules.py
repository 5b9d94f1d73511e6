"""Which writes an admission webhook is called for: rules, selectors and conditions.

Promises: a registration is parsed once, when its configuration is stored; matching makes no calls.

Upstream: apiserver ``admission/plugin/webhook/{generic,predicates,matchconditions}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clientgo.meta.selectors import Selector, selector_from_object
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

if TYPE_CHECKING:
    from clientgo.testcluster.server.admission.match_conditions import MatchConditions

_DEFAULT_TIMEOUT = 10


class WebhookRule(msgspec.Struct, frozen=True):
    """A rule of a webhook; ``*`` matches everything."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    operations: frozenset[str]
    scope: str

    @classmethod
    def parse(cls, rule: Mapping[str, Any]) -> WebhookRule:
        """Parse a rule of a configuration."""
        return cls(
            frozenset(rule.get("apiGroups", ())),
            frozenset(rule.get("apiVersions", ())),
            frozenset(rule.get("resources", ())),
            frozenset(rule.get("operations", ())),
            rule.get("scope") or "*",
        )

    def matches(self, review: Review, resource: Resource) -> bool:
        """Return True if the rule matches a write, converted to the version ``resource``."""
        return (
            _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and _has(self.operations, review.operation)
            and self._covers_path(resource.plural, review.subresource)
            and self.scope in ("*", "Namespaced" if review.namespace else "Cluster")
        )

    def _covers_path(self, plural: str, subresource: str) -> bool:
        if not subresource:
            return not self.resources.isdisjoint({plural, "*", "*/*"})
        return not self.resources.isdisjoint(
            {f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}", "*/*"}
        )


def _has(accepted: frozenset[str], value: str) -> bool:
    return "*" in accepted or value in accepted


class Webhook(msgspec.Struct, frozen=True):
    """A registered webhook."""

    name: str
    client_config: Mapping[str, Any]
    rules: tuple[WebhookRule, ...]
    namespace_selector: Selector
    object_selector: Selector
    conditions: MatchConditions | None
    ignores_failure: bool
    exact: bool
    reinvoked: bool
    timeout: float

    @classmethod
    def parse(cls, webhook: Mapping[str, Any]) -> Webhook:
        """Parse a webhook of a configuration that was validated."""
        return cls(
            webhook["name"],
            webhook["clientConfig"],
            tuple(WebhookRule.parse(rule) for rule in webhook.get("rules", ())),
            selector_from_object(webhook.get("namespaceSelector") or {}),
            selector_from_object(webhook.get("objectSelector") or {}),
            _match_conditions(webhook.get("matchConditions", ())),
            ignores_failure=webhook.get("failurePolicy") == "Ignore",
            exact=webhook.get("matchPolicy") == "Exact",
            reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
            timeout=webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT,
        )

    def matched_version(self, review: Review, versions: Sequence[Resource]) -> Resource | None:
        """Return the version of the resource in which the webhook gets the write, or None.

        ``versions`` are all versions of the resource, the written one first.
        """
        for resource in versions[:1] if self.exact else versions:
            if any(rule.matches(review, resource) for rule in self.rules):
                return resource
        return None

    def selects(self, review: Review, namespace_labels: Mapping[str, str] | None) -> bool:
        """Return True if the selectors match; on an update either state may match."""
        return is_selected(review, self.namespace_selector, self.object_selector, namespace_labels)

    def meets_conditions(self, request: Object) -> bool:
        """Return True if every condition holds for a review's request.

        Raises:
            ExpressionError: one could not be evaluated, and none is false; or they cost too much.
        """
        return self.conditions is None or self.conditions.hold(request)


def is_selected(
    review: Review,
    namespace_selector: Selector,
    object_selector: Selector,
    namespace_labels: Mapping[str, str] | None,
) -> bool:
    """Return True if both selectors match a write; on an update either state may match."""
    if namespace_labels is not None and not namespace_selector.matches(namespace_labels):
        return False
    states = [state for state in (review.obj, review.old) if state is not None]
    return any(object_selector.matches(_labels(state)) for state in states)


def _match_conditions(conditions: Sequence[Mapping[str, str]]) -> MatchConditions | None:
    if not conditions:
        return None
    from clientgo.testcluster.server.admission.match_conditions import MatchConditions  # loads CEL

    return MatchConditions(conditions)


def _labels(obj: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels
