"""Check one value by the constraints of its place: formats, limits, patterns, enumerations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.tables.formats import FORMATS
from clientgo.testcluster.server.kinds.tables.kind_table import TableError
from clientgo.testcluster.server.kinds.tables.nodes import Node
from clientgo.testcluster.server.kinds.tables.validation.causes import (
    Check,
    Run,
    error_of,
    reason_of,
)
from clientgo.testcluster.server.kinds.tables.validation.functions import FUNCTIONS
from clientgo.testcluster.server.kinds.tables.validation.places import distinct_check
from clientgo.util.text.go_regexp import compile_go_regexp
from clientgo.util.text.quantities import parse_quantity


def value_checks(node: Node, place: Any) -> Iterator[Check]:
    """Return a check for each constraint that a place has for its value."""
    said = place.constraints
    reason = said.get("reason", "Invalid")
    if forbidden := reason_of(said.get("forbidden"), "Forbidden"):
        yield _failing(forbidden)
    for name in said.get("format", ()):
        yield _format(name, reason)
    if "keys" in said:
        yield _keys(said["keys"])
    if "enum" in said:
        yield _enum(said["enum"], said.get("reason", "NotSupported"))
    if "min" in said or "max" in said:
        yield _range(node, said.get("min"), said.get("max"), reason)
    if "maxLength" in said:
        yield _longest(said["maxLength"])
    if "maxItems" in said:
        yield _most(said["maxItems"])
    if "pattern" in said:
        yield _pattern(said["pattern"], reason)
    if "unique" in said:
        yield _unique(said["unique"])
    if "check" in said:
        yield _function(said["check"])
    for entry in place.distinct:
        yield distinct_check(entry)


def _failing(reason: str) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if value not in ([], {}, False):
            run.errors.append(error_of(reason, path, value, "may not be set"))

    return check


def _format(name: str, reason: str) -> Check:
    problems = FORMATS[name]

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        for problem in problems(value):
            run.errors.append(error_of(reason, path, value, problem))

    return check


def _keys(name: str) -> Check:
    problems = FORMATS[name]

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        for key in value:
            for problem in problems(key):
                run.errors.append(FieldError.invalid(f"{path}[{key}]", key, problem))

    return check


def _enum(supported: Sequence[Any], reason: str) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if value in supported:
            return
        if reason == "NotSupported":
            run.errors.append(FieldError.not_supported(path, value, supported))
        else:
            run.errors.append(error_of(reason, path, value, f"must be one of {supported}"))

    return check


def _range(node: Node, lowest: Any, highest: Any, reason: str) -> Check:
    is_quantity = node.type.is_quantity

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        amount = parse_quantity(value) if is_quantity else value
        if isinstance(amount, str):
            return  # a percentage
        if lowest is not None and amount < lowest:
            detail = f"must be greater than or equal to {lowest}"
            run.errors.append(error_of(reason, path, value, detail))
        elif highest is not None and amount > highest:
            detail = f"must be less than or equal to {highest}"
            run.errors.append(error_of(reason, path, value, detail))

    return check


def _longest(limit: int) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if len(value.encode()) > limit:
            run.errors.append(FieldError.too_long(path, limit))

    return check


def _most(limit: int) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if len(value) > limit:
            run.errors.append(FieldError.too_many(path, len(value), limit))

    return check


def _pattern(pattern: str, reason: str) -> Check:
    regexp = compile_go_regexp(pattern)

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if not regexp.matches(value):
            run.errors.append(error_of(reason, path, value, f"must match {pattern}"))

    return check


def _unique(key: Any) -> Check:
    """Check that items differ: as a whole, in the field `key`, or in a list of fields."""
    names = key if isinstance(key, list) else [key]
    suffix = f".{key}" if isinstance(key, str) else ""

    def key_of(item: Any) -> Any:
        if key is True:
            return item if isinstance(item, str | int) else repr(item)
        return tuple(item.get(name) for name in names)

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        if len(value) < 2:
            return
        seen = set()
        for index, item in enumerate(value):
            found = key_of(item)
            if found in seen:
                shown = item.get(key) if suffix else item
                run.errors.append(FieldError.duplicate(f"{path}[{index}]{suffix}", shown))
            elif suffix == "" or found[0]:
                seen.add(found)

    return check


def _function(name: str) -> Check:
    if name not in FUNCTIONS:
        raise TableError(f"there is no check {name!r}")
    function = FUNCTIONS[name]

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        run.errors += function(value, path)

    return check
