"""The cost limits of the rules of a definition.

Promises: the two limits of a real server: for each expression, times the number of values that it
applies to, and for all expressions of a schema.

Does not promise: to refuse every definition that a server refuses. See `cost_estimate`.

Follows ``CELSchemaContext`` of ``k8s.io/apiextensions-apiserver``'s validation.
"""

from __future__ import annotations

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.cel.cost_estimate import estimate_cost
from clientgo.testcluster.cel.environment import Checked
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.rules.size_bounds import bounds_of

EXPRESSION_LIMIT = 10_000_000
SCHEMA_LIMIT = 100_000_000
_NAMED_FROM = SCHEMA_LIMIT // 100
_MOST_NAMED = 4
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared)"
)


class RuleCosts:
    """The sum of the costs of the rules of one schema."""

    def __init__(self) -> None:
        self._total = 0
        self._expensive: list[tuple[int, str]] = []

    def add(
        self,
        rule: Checked,
        message: Checked | None,
        schema: JSONSchema,
        path: str,
        *,
        is_resource: bool,
        places: int | None,
    ) -> list[FieldError]:
        """Add a rule and its message expression, and return the causes if they cost too much.

        `places` is the greatest number of values in an object that the rule applies to; None if
        the schema has no limit.
        """
        bounds = bounds_of(schema, is_resource=is_resource)
        if bounds is None:
            return []
        cost = estimate_cost(rule, bounds)
        cost *= bounds.cardinality if places is None else places
        errors = self._count(cost, f"{path}.rule", "estimated rule cost")
        if message is not None:
            where = f"{path}.messageExpression"
            what = "estimated messageExpression cost"
            errors += self._count(estimate_cost(message, bounds), where, what)
        return errors

    def _count(self, cost: int, path: str, what: str) -> list[FieldError]:
        self._total += cost
        if cost >= _NAMED_FROM:
            self._expensive.append((cost, path))
        if cost <= EXPRESSION_LIMIT:
            return []
        return [FieldError.forbidden(path, _excess(what, cost, EXPRESSION_LIMIT))]

    def errors(self, path: str) -> list[FieldError]:
        """Return the causes if the rules of the schema at `path` cost too much together."""
        if self._total <= SCHEMA_LIMIT:
            return []
        most_expensive = sorted(self._expensive, key=lambda cost_at: -cost_at[0])[:_MOST_NAMED]
        detail = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(FieldError.forbidden(where, detail) for _, where in most_expensive),
            FieldError.forbidden(path, _excess(what, self._total, SCHEMA_LIMIT)),
        ]


def places_below(schema: JSONSchema, places: int | None) -> int | None:
    """Return the greatest number of values of a child node; None if it has no limit."""
    factor: int | None = 1
    if schema.type == "array":
        factor = schema.max_items
    elif schema.type == "object" and schema.additional_properties is not None:
        factor = schema.max_properties
    return None if places is None or factor is None else places * max(factor, 0)


def _excess(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
