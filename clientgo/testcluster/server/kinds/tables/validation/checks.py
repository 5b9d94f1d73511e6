"""Check objects by the constraints and rules of tables.

Promises: `compile_checks` turns a node into a function that collects the causes of an object, with
the field and reason that a real API server gives, each as often. Fields without constraints are not
visited.

Does not promise: the order of causes, and messages to the letter.

Upstream: ``validation.go`` of each group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clientgo.meta.json_values import json_equal
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.testcluster.server.kinds.tables.formats import FORMATS
from clientgo.testcluster.server.kinds.tables.kind_table import ITEMS, VALUES, Place, split_path
from clientgo.testcluster.server.kinds.tables.nodes import Node
from clientgo.testcluster.server.kinds.tables.type_names import REPEATED_TYPES, short_name
from clientgo.testcluster.server.kinds.tables.validation.causes import (
    Check,
    Run,
    error_of,
    join,
    reason_of,
)
from clientgo.testcluster.server.kinds.tables.validation.constraints import value_checks
from clientgo.testcluster.server.kinds.tables.validation.places import reference_check
from clientgo.testcluster.server.kinds.tables.validation.rules import compile_rule


def compile_checks(node: Node, skipped: Sequence[str] = ()) -> Check | None:
    """Return the checks of a node and below, without those of some members; None if none."""
    own = [check for place in node.places for check in value_checks(node, place)]
    if node.type.field_names:
        own += _object_checks(node, skipped)
    elif node.items is not None:
        each = compile_checks(node.items)
        indexed = not any("at" in place.constraints for place in node.items.places)
        own += [_for_items(each, indexed=indexed)] if each else []
    elif node.values is not None:
        each = compile_checks(node.values)
        own += [_for_values(each)] if each else []
    # Last, because a target with an error is not found.
    late = [
        (_needed_fields(e["each"]), reference_check(e))
        for place in node.places
        for e in place.references
    ]
    late += [
        (_needed_fields(_first_need(rule)), compile_rule(rule))
        for place in node.places
        for rule in place.rules
        if not rule.get("status")
    ]
    checks = _all(own + _triggered(late))
    is_repeated = checks and short_name(node.type.name) in REPEATED_TYPES
    return _for_new_values(checks) if checks and is_repeated and _is_local(node) else checks


def _is_local(node: Node) -> bool:
    """Return True if the value of a node alone decides on its errors."""
    members = [*node.members.values(), *filter(None, (node.items, node.values))]
    return all(map(_says_local, node.places)) and all(map(_is_local, members))


def _says_local(place: Place) -> bool:
    return "immutable" not in place.constraints and not any(
        "when" in rule or _OF_OTHERS.search(rule["rule"]) for rule in place.rules
    )


_OF_OTHERS = re.compile(r"\b(oldSelf|object)\b")


def _for_new_values(checks: Check) -> Check:
    """Skip the checks of values that are known to be valid."""
    valid = RepeatedValues()

    def check(value: Any, old: Any, path: str, run: Run) -> None:
        if run.errors:  # what has errors can't be referred to
            checks(value, old, path, run)
            return
        key = value_key(value)
        if key not in valid:
            checks(value, old, path, run)
            if not run.errors:
                valid.remember(key)

    return check


def _triggered(checks: list[tuple[tuple[str, str], Check]]) -> list[Check]:
    """Return checks that run only if a field of theirs is there, and one in it.

    "" stands for no such field.
    """
    always = [check for (name, _), check in checks if not name]
    by_field: dict[str, list[tuple[str, Check]]] = {}
    for (name, below), check in checks:
        if name:
            by_field.setdefault(name, []).append((below, check))

    def check_present(value: Any, old: Any, path: str, run: Run) -> None:
        for name, member in value.items():
            for below, check in by_field.get(name, ()):
                if not below or (isinstance(member, dict) and below in member):
                    check(value, old, path, run)

    return [*always, check_present] if by_field else always


def _needed_fields(path: str) -> tuple[str, str]:
    """Return the first two fields of a path, "" for items and values and after them."""
    first, second, *_ = (*split_path(path), ITEMS, ITEMS)
    if first in (ITEMS, VALUES):
        return "", ""
    return first, "" if second in (ITEMS, VALUES) else second


def _first_need(rule: Mapping[str, Any]) -> str:
    """Return a path without which a rule does not apply, or ""."""
    needs = [name for name in rule.get("needs", "").split() if not name.startswith("item.")]
    path: str = needs[0] if needs else rule.get("each", "")
    return path


def _all(checks: list[Check]) -> Check | None:
    if len(checks) < 2:
        return checks[0] if checks else None

    def check_all(value: Any, old: Any, path: str, run: Run) -> None:
        for check in checks:
            check(value, old, path, run)

    return check_all


# -- objects, lists and maps


def _object_checks(node: Node, skipped: Sequence[str]) -> list[Check]:
    required: list[tuple[str, str, bool, str, str]] = []
    immutable: list[tuple[str, str, str, list[list[str]]]] = []
    members: dict[str, _Member] = {}
    for name, member in node.members.items():
        if name in skipped:
            continue
        said: dict[str, Any] = {}
        for place in member.places:
            said |= place.constraints
        is_struct = bool(member.type.field_names)
        if reason := reason_of(said.get("required"), "Required"):
            detail = _detail_of_missing(said) if reason == "Invalid" else ""
            required.append((name, reason, is_struct, said.get("at", name), detail))
        if fixed := said.get("immutable"):
            immutable.append((name, *_immutability(fixed)))
        if (check := compile_checks(member)) is not None:
            empty = () if said.get("empty") else ("", 0) if "required" in said else ("",)
            members[name] = _Member(check, empty, said.get("at"))
    checks: list[Check] = []
    if required:
        checks.append(_required(required))
    if immutable:
        checks.append(_immutable(immutable))
    unions = [place.union for place in node.places if place.union]
    if unions:
        checks.append(_union(unions[-1], _for_members(members)))
    elif members:
        checks.append(_for_members(members))
    return checks


def _detail_of_missing(said: Mapping[str, Any]) -> str:
    """Return what the format of a field says of an empty text."""
    problems = [problem for name in said.get("format", ()) for problem in FORMATS[name]("")]
    return problems[0] if problems else ""


def _required(fields: list[tuple[str, str, bool, str, str]]) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        for name, reason, is_struct, where, detail in fields:
            found = value.get(name)
            if not found and found is not False and not (is_struct and found == {}):
                run.errors.append(error_of(reason, join(path, where), found or "", detail))

    return check


def _immutability(said: Any) -> tuple[str, str, list[list[str]]]:
    """Return the reason and the message of a change, and the paths that may change."""
    if not isinstance(said, dict):
        return reason_of(said, "Invalid"), _IMMUTABLE, []
    paths = [list(split_path(path)) for path in said["except"]]
    return said.get("reason", "Invalid"), said.get("message", _IMMUTABLE), paths


_IMMUTABLE = "field is immutable"


def _immutable(fields: list[tuple[str, str, str, list[list[str]]]]) -> Check:
    def check(value: Any, old: Any, path: str, run: Run) -> None:
        if old is None:
            return
        for name, reason, detail, may_change in fields:
            new, before = value.get(name), old.get(name)
            if not json_equal(new, before) and not json_equal(
                _without(new, may_change), _without(before, may_change)
            ):
                run.errors.append(error_of(reason, join(path, name), new, detail))

    return check


def _without(value: Any, paths: list[list[str]]) -> Any:
    """Return a copy of a value without the values at some paths."""
    if not paths or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        inner = [path[1:] for path in paths if path[0] == ITEMS]
        return [_without(item, inner) for item in value]
    removed = {path[0] for path in paths if len(path) == 1}
    return {
        name: _without(member, [path[1:] for path in paths if path[0] == name and path[1:]])
        for name, member in value.items()
        if name not in removed
    }


class _Member(NamedTuple):
    """How a field of an object is checked."""

    check: Check
    empty: tuple[Any, ...]
    """Values that count as missing."""
    at: str | None
    """Where the causes are, if not at the field."""


def _for_members(members: Mapping[str, _Member]) -> Check:
    def check(value: Any, old: Any, path: str, run: Run) -> None:
        prefix = f"{path}." if path else ""
        before = old if isinstance(old, dict) else None
        for name, member in value.items():
            found = members.get(name)
            if found is None or member is None:
                continue
            member_check, empty, at = found
            if member or member is False or member not in empty:
                where = prefix + name if at is None else join(path, at)
                was = None if before is None else before.get(name)
                member_check(member, was, where, run)

    return check


def _union(union: Mapping[str, Any], members: Check) -> Check:
    """Check that one of some members is set; only the first one is looked into."""
    names: list[str] = union["fields"]
    none, many = union.get("none"), union.get("many")
    where: str | None = union.get("at")
    noun: str = union.get("noun", "")
    missing = f"must specify a {noun}" if noun else "must specify one of the fields"
    detail = "may not specify more than " + (f"1 {noun}" if noun else "one of the fields")

    def check(value: Any, old: Any, path: str, run: Run) -> None:
        found = [name for name in names if value.get(name) is not None]
        if not found and none:
            run.errors.append(error_of(none, join(path, where or ""), "", missing))
        if len(found) > 1 and many:
            for name in found[1:] if where is None else [where]:
                run.errors.append(error_of(many, join(path, name), "", detail))
        if len(found) > 1:
            value = {key: member for key, member in value.items() if key not in found[1:]}
        members(value, old, path, run)

    return check


def _for_items(each: Check, *, indexed: bool) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        for index, item in enumerate(value):
            each(item, None, f"{path}[{index}]" if indexed else path, run)

    return check


def _for_values(each: Check) -> Check:
    def check(value: Any, old: Any, path: str, run: Run) -> None:
        before = old if isinstance(old, dict) else {}
        for key, member in value.items():
            each(member, before.get(key), f"{path}[{key}]", run)

    return check
