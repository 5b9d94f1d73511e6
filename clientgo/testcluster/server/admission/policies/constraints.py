"""Which writes a policy or a binding is about.

Upstream: apiserver ``admission/plugin/policy/matching``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clientgo.meta.selectors import Selector, selector_from_object
from clientgo.testcluster.server.admission.webhook_rules import WebhookRule, is_selected
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.resources.resource import Resource


class _NamedRule(msgspec.Struct, frozen=True):
    rule: WebhookRule
    names: frozenset[str]
    """Names of objects; empty for all."""

    def matches(self, review: Review, resource: Resource) -> bool:
        named = not self.names or review.name in self.names
        return named and self.rule.matches(review, resource)


class Constraints(msgspec.Struct, frozen=True):
    """``matchConstraints`` of a policy, or ``matchResources`` of a binding."""

    rules: tuple[_NamedRule, ...]
    excluded: tuple[_NamedRule, ...]
    namespace_selector: Selector
    object_selector: Selector
    exact: bool

    @classmethod
    def parse(cls, constraints: Mapping[str, Any]) -> Constraints:
        """Parse constraints that were validated; empty ones match everything."""
        return cls(
            _rules(constraints.get("resourceRules", ())),
            _rules(constraints.get("excludeResourceRules", ())),
            selector_from_object(constraints.get("namespaceSelector") or {}),
            selector_from_object(constraints.get("objectSelector") or {}),
            exact=constraints.get("matchPolicy") == "Exact",
        )

    def matched_version(
        self,
        review: Review,
        versions: Sequence[Resource],
        namespace_labels: Mapping[str, str] | None,
    ) -> Resource | None:
        """Return the version of the resource in which the write matches, or None.

        ``versions`` are all versions of the resource, the written one first.
        """
        if not is_selected(review, self.namespace_selector, self.object_selector, namespace_labels):
            return None
        candidates = versions[:1] if self.exact else versions
        if _first_match(self.excluded, review, candidates) is not None:
            return None
        return _first_match(self.rules, review, candidates) if self.rules else versions[0]


def _rules(rules: Sequence[Mapping[str, Any]]) -> tuple[_NamedRule, ...]:
    return tuple(
        _NamedRule(WebhookRule.parse(rule), frozenset(rule.get("resourceNames", ())))
        for rule in rules
    )


def _first_match(
    rules: Sequence[_NamedRule], review: Review, candidates: Sequence[Resource]
) -> Resource | None:
    return next(
        (item for item in candidates if any(rule.matches(review, item) for rule in rules)), None
    )
