"""What the rules of a definition may cost, and the refusal of those that are too dear.

Promises: the two limits of a real server: one for each expression, with all the places of an object
in which it may have to be evaluated, and one for all the expressions of a schema.

Does not promise more than `estimate_cost` does: what costs too much here costs too much there, but
not the other way round.

Follows ``CELSchemaContext`` of ``k8s.io/apiextensions-apiserver``'s validation.
"""

from __future__ import annotations

from clientgo.cel.cost_estimate import estimate_cost
from clientgo.schema.field_errors import FieldError
from clientgo.schema.json_schema import JSONSchema, ValidationRule
from clientgo.schema.rules.size_bounds import bounds_of

EXPRESSION_LIMIT = 10_000_000
SCHEMA_LIMIT = 100_000_000
_WORTH_NAMING = SCHEMA_LIMIT // 100
_MOST_NAMED = 4
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared)"
)


class RuleCosts:
    """Adds up what the rules of one schema may cost."""

    def __init__(self) -> None:
        self._total = 0
        self._dear: list[tuple[int, str]] = []

    def add(
        self,
        rule: ValidationRule,
        schema: JSONSchema,
        path: str,
        *,
        is_resource: bool,
        places: int | None,
    ) -> list[FieldError]:
        """Count a rule that compiles, of a node that an object has in so many places at most.

        `places` is None if the schema does not tell. Returns the causes for a rule that costs too
        much by itself.
        """
        bounds = bounds_of(schema, is_resource=is_resource)
        if bounds is None:
            return []
        variables = {"self": bounds, "oldSelf": None if rule.optional_old_self else bounds}
        cost = estimate_cost(rule.rule, variables)
        cost *= bounds.cardinality if places is None else places
        errors = self._count(cost, f"{path}.rule", "estimated rule cost")
        if rule.message_expression:
            cost = estimate_cost(rule.message_expression, variables)
            where = f"{path}.messageExpression"
            errors += self._count(cost, where, "estimated messageExpression cost")
        return errors

    def _count(self, cost: int, path: str, what: str) -> list[FieldError]:
        self._total += cost
        if cost >= _WORTH_NAMING:
            self._dear.append((cost, path))
        if cost <= EXPRESSION_LIMIT:
            return []
        return [FieldError.forbidden(path, _excess(what, cost, EXPRESSION_LIMIT))]

    def errors(self, path: str) -> list[FieldError]:
        """Return the causes if all rules of the schema, found at `path`, cost too much together."""
        if self._total <= SCHEMA_LIMIT:
            return []
        dearest = sorted(self._dear, key=lambda dear: -dear[0])[:_MOST_NAMED]
        detail = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(FieldError.forbidden(where, detail) for _, where in dearest),
            FieldError.forbidden(path, _excess(what, self._total, SCHEMA_LIMIT)),
        ]


def places_below(schema: JSONSchema, places: int | None) -> int | None:
    """Return in how many places an object has what is directly below a node; None if unbounded."""
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
