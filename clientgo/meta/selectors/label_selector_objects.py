"""Label selectors in API objects: `matchLabels` and `matchExpressions`.

Converts `metav1.LabelSelector` to a `Selector`. None matches nothing, an empty selector everything.
Source: `LabelSelectorAsSelector` in k8s.io/apimachinery/pkg/apis/meta/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.meta.selectors.label_requirements import Operator, Requirement, SelectorError
from clientgo.meta.selectors.label_selectors import Selector, nothing

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def selector_from_object(label_selector: Mapping[str, Any] | None) -> Selector:
    """Build the selector that a ``LabelSelector`` object describes; None selects nothing.

    Raises `SelectorError` for an unknown operator or an illegal key or value.
    """
    if label_selector is None:
        return nothing()
    requirements = [
        Requirement.validated(key, Operator.EQUALS, (value,))
        for key, value in _match_labels(label_selector).items()
    ]
    for expression in _match_expressions(label_selector):
        operator = _OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise SelectorError(
                f"{expression.get('operator')!r} is not a label selector operator; "
                f"use one of {', '.join(_OPERATORS)}"
            )
        requirements.append(
            Requirement.validated(
                expression.get("key", ""), operator, expression.get("values") or ()
            )
        )
    return Selector(tuple(requirements))


def _match_labels(label_selector: Mapping[str, Any]) -> Mapping[str, str]:
    return label_selector.get("matchLabels") or {}


def _match_expressions(label_selector: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return label_selector.get("matchExpressions") or []
