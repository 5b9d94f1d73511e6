"""Label selectors in API objects: `matchLabels` and `matchExpressions`.

Converts `metav1.LabelSelector` to a `Selector`, and to and from text and plain labels. None matches
nothing, an empty selector everything. The object form has no `<`, `>` or `!=`. Source:
`LabelSelectorAsSelector` in k8s.io/apimachinery/pkg/apis/meta/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.meta.selectors.label_requirements import Operator, Requirement, SelectorError
from clientgo.meta.selectors.label_selectors import Selector, nothing, parse_label_selector

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_NAMES = {operator: name for name, operator in _OPERATORS.items()}


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


def object_from_selector(selector: str | Selector) -> dict[str, Any]:
    """Return the ``LabelSelector`` object for a selector or its text.

    Raises `SelectorError` for text that does not parse and for ``!=``, ``<`` and ``>``, which the
    API form lacks. Upstream: ``metav1.ParseToLabelSelector``.
    """
    if isinstance(selector, str):
        selector = parse_label_selector(selector)
    match_labels: dict[str, str] = {}
    match_expressions: list[dict[str, Any]] = []
    for requirement in selector.requirements:
        if requirement.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
            match_labels[requirement.key] = requirement.values[0]
            continue
        name = _NAMES.get(requirement.operator)
        if name is None:
            raise SelectorError(f"{str(requirement)!r} can't be written as a LabelSelector object")
        expression: dict[str, Any] = {"key": requirement.key, "operator": name}
        if requirement.values:
            expression["values"] = list(requirement.values)
        match_expressions.append(expression)
    result: dict[str, Any] = {}
    if match_labels:
        result["matchLabels"] = match_labels
    if match_expressions:
        result["matchExpressions"] = match_expressions
    return result


def labels_from_object(label_selector: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Return the labels that a ``LabelSelector`` object asks for, if it asks for nothing else.

    Raises `SelectorError` for an expression other than ``In`` with a single value.
    Upstream: ``metav1.LabelSelectorAsMap``.
    """
    if label_selector is None:
        return None
    labels = dict(_match_labels(label_selector))
    for expression in _match_expressions(label_selector):
        values: list[str] = expression.get("values") or []
        if expression.get("operator") != "In" or len(values) != 1:
            raise SelectorError(f"{dict(expression)!r} can't be written as a label and its value")
        labels[expression.get("key", "")] = values[0]
    return labels


def labels_from_selector(text: str) -> dict[str, str]:
    """Return the labels that a selector of nothing but ``key=value`` terms asks for.

    Raises `SelectorError` for any other selector. Upstream: ``labels.ConvertSelectorToLabelsMap``.
    """
    labels: dict[str, str] = {}
    for requirement in parse_label_selector(text).requirements:
        if requirement.operator is not Operator.EQUALS:
            raise SelectorError(f"{str(requirement)!r} is not of the form key=value")
        labels[requirement.key] = requirement.values[0]
    return labels


def _match_labels(label_selector: Mapping[str, Any]) -> Mapping[str, str]:
    return label_selector.get("matchLabels") or {}


def _match_expressions(label_selector: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return label_selector.get("matchExpressions") or []
