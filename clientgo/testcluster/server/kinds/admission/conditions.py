"""Match conditions of webhooks and policies.

Upstream: ``validateMatchConditions`` in ``pkg/apis/admissionregistration/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clientgo.meta.selectors import label_key_problems
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.storage.storage import Object

_MOST_CONDITIONS = 64


def condition_errors(
    conditions: Sequence[Object],
    path: str,
    expression_errors: Callable[[str, str], list[FieldError]],
) -> Iterator[FieldError]:
    """Yield the errors of conditions; ``expression_errors`` returns those of an expression."""
    if len(conditions) > _MOST_CONDITIONS:
        yield FieldError.too_many(path, len(conditions), _MOST_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        yield from expression_errors(condition.get("expression", ""), f"{where}.expression")
        yield from unique_name(condition.get("name", ""), f"{where}.name", names)


def unique_name(name: str, path: str, seen: set[str], prefix: str = "") -> Iterator[FieldError]:
    """Yield the errors of a name, which is added to those that were seen before."""
    if not name and not prefix:
        yield FieldError.required(path)
        return
    for problem in label_key_problems(f"{prefix}{name}"):
        yield FieldError.invalid(path, f"{prefix}{name}", problem)
    if name in seen:
        yield FieldError.duplicate(path, name)
    seen.add(name)
