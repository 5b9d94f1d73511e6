"""Check objects by the constraints and rules of tables.

Promises: `compile_checks` turns a node into a function that collects the causes of an object, with
the field and reason that a real API server gives, each as often. Fields without constraints are not
visited.

Does not promise: the order of causes, and messages to the letter.

Upstream: ``validation.go`` of each group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from clientgo.apiserver.kinds.tables.expressions import Expression
from clientgo.apiserver.kinds.tables.formats import FORMATS
from clientgo.apiserver.kinds.tables.functions import FUNCTIONS
from clientgo.apiserver.kinds.tables.kind_table import (
    ITEMS,
    VALUES,
    Place,
    TableError,
    split_path,
)
from clientgo.apiserver.kinds.tables.nodes import Node
from clientgo.apiserver.kinds.tables.type_names import REPEATED_TYPES, short_name
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.schema.field_errors import OMITTED, FieldError, FieldErrorReason
from clientgo.text.go_regexp import compile_go_regexp
from clientgo.text.quantities import parse_quantity


class Run(msgspec.Struct):
    """One validation of an object."""

    object: Any
    is_update: bool
    errors: list[FieldError] = msgspec.field(default_factory=list)


Check = Callable[[Any, Any, str, Run], None]
"""Called with a value, its old value (None if it is not known), its path and the run."""


def error_of(reason: str, path: str, value: Any, detail: str) -> FieldError:
    """Return an error for a reason as tables write it, such as ``Required``."""
    full = {
        "TypeInvalid": FieldErrorReason.TYPE_INVALID,
        "Internal": FieldErrorReason.INTERNAL,
    }.get(reason) or FieldErrorReason(f"FieldValue{reason}")
    shown = OMITTED if full in _WITHOUT_VALUE or isinstance(value, dict | list) else value
    return FieldError(full, path, shown, detail)


_WITHOUT_VALUE = (
    FieldErrorReason.REQUIRED,
    FieldErrorReason.FORBIDDEN,
    FieldErrorReason.TOO_LONG,
)


def compile_checks(node: Node, skipped: Sequence[str] = ()) -> Check | None:
    """Return the checks of a node and below, without those of some members; None if none."""
    own = [check for place in node.places for check in _own_checks(node, place)]
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
        (_needed_fields(e["each"]), _reference(e))
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
    required: list[tuple[str, str, bool, str]] = []
    immutable: list[tuple[str, str, list[list[str]]]] = []
    members: dict[str, _Member] = {}
    for name, member in node.members.items():
        if name in skipped:
            continue
        said: dict[str, Any] = {}
        for place in member.places:
            said |= place.constraints
        is_struct = bool(member.type.field_names)
        if reason := _reason(said.get("required"), "Required"):
            required.append((name, reason, is_struct, said.get("at", name)))
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


def _reason(said: Any, default: str) -> str:
    """Return the reason that a flag means."""
    return default if said is True else said or ""


def _required(fields: list[tuple[str, str, bool, str]]) -> Check:
    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        for name, reason, is_struct, where in fields:
            found = value.get(name)
            if not found and found is not False and not (is_struct and found == {}):
                run.errors.append(error_of(reason, _join(path, where), found or "", ""))

    return check


def _immutability(said: Any) -> tuple[str, list[list[str]]]:
    """Return the reason of a change, and the paths that may change."""
    if not isinstance(said, dict):
        return _reason(said, "Invalid"), []
    return said.get("reason", "Invalid"), [list(split_path(path)) for path in said["except"]]


def _immutable(fields: list[tuple[str, str, list[list[str]]]]) -> Check:
    def check(value: Any, old: Any, path: str, run: Run) -> None:
        if old is None:
            return
        for name, reason, may_change in fields:
            new, before = value.get(name), old.get(name)
            if new != before and _without(new, may_change) != _without(before, may_change):
                error = error_of(reason, _join(path, name), new, "field is immutable")
                run.errors.append(error)

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
                where = prefix + name if at is None else _join(path, at)
                was = None if before is None else before.get(name)
                member_check(member, was, where, run)

    return check


def _union(union: Mapping[str, Any], members: Check) -> Check:
    """Check that one of some members is set; only the first one is looked into."""
    names: list[str] = union["fields"]
    none, many = union.get("none"), union.get("many")
    where: str | None = union.get("at")

    def check(value: Any, old: Any, path: str, run: Run) -> None:
        found = [name for name in names if value.get(name) is not None]
        if not found and none:
            error = error_of(none, _join(path, where or ""), "", "must specify one of the fields")
            run.errors.append(error)
        if len(found) > 1 and many:
            detail = "may not specify more than one of the fields"
            for name in found[1:] if where is None else [where]:
                run.errors.append(error_of(many, _join(path, name), "", detail))
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


def _join(path: str, name: str) -> str:
    """Return the path of a field below; ``^`` cuts the last index, if any, ``^^`` a name too."""
    if not name:
        return path
    if name.startswith("^"):
        before, bracket, _ = path.rpartition("[")
        before = before if bracket else path
        if name.startswith("^^"):
            return before.rpartition(".")[0] + name[2:]
        return before + name[1:]
    return f"{path}.{name}" if path else name


# -- the constraints of one value


def _own_checks(node: Node, place: Any) -> Iterator[Check]:
    said = place.constraints
    reason = said.get("reason", "Invalid")
    if forbidden := _reason(said.get("forbidden"), "Forbidden"):
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
        yield _distinct(entry)


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


# -- several places


def _reference(entry: Mapping[str, Any]) -> Check:
    """Check that values name something at other places, where no error was found."""
    names = _Reader(entry["each"])
    targets = [_Reader(path) for path in entry["to"]]
    reason, by = entry.get("reason", "NotFound"), entry.get("by")

    def known(value: Any, path: str, run: Run) -> set[Any]:
        if not run.errors:
            return {target for read in targets for target in read.values(value)}
        wrong = [error.field for error in run.errors]
        return {
            target
            for read in targets
            for where, target in read.places(value, path)
            if not _has_error_below(where, wrong)
        }

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        items = names.values(value)
        if not items:
            return
        found = known(value, path, run)
        for index, item in enumerate(items):
            name = item if by is None else item.get(by)
            if name not in found and (name or by is None):
                run.errors.append(error_of(reason, names.place(value, path, index), name, ""))

    return check


def _has_error_below(path: str, fields: list[str]) -> bool:
    """Return True if there is an error in the list item that a path is within."""
    item = path[: path.rindex("]") + 1] if "]" in path else path
    return any(field.startswith((f"{item}.", f"{item}[")) or field == item for field in fields)


def _distinct(entry: Mapping[str, Any]) -> Check:
    """Check that values at some paths differ, as a whole or in some fields."""
    readers = [_Reader(path) for path in entry["of"]]
    by, where = entry.get("by"), entry.get("field", "")
    reason, report = entry.get("reason", "Duplicate"), entry.get("report")

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        count = 0
        for read in readers:
            count += len(read.values(value))
        if count < 2:
            return
        seen: dict[Any, str] = {}
        for read in readers:
            for place, item in read.places(value, path):
                if by is not None and not item.get(by[0]):
                    continue
                key = item if by is None else tuple(item.get(name) for name in by)
                if key in seen:
                    reported = {"self": path, "earlier": seen[key]}.get(report or "", place)
                    run.errors.append(error_of(reason, _join(reported, where), "", ""))
                if key and (key not in seen or report == "earlier"):
                    seen[key] = place

    return check


# -- rules


def compile_rule(rule: Mapping[str, Any]) -> Check:
    """Return the check of a rule."""
    evaluate = Expression(rule["rule"]).evaluate
    needs_old = "oldSelf" in rule["rule"]
    reason, name = rule.get("reason", "Invalid"), rule.get("field", "")
    message = rule.get("message") or f"failed rule: {rule['rule']}"
    each = _Reader(rule["each"]) if "each" in rule else None
    needs = rule.get("needs", "").split()
    item_needs = [name.removeprefix("item.") for name in needs if name.startswith("item.")]
    paths = [tuple(name.split(".")) for name in needs if not name.startswith("item.")]
    unless = rule.get("unless", "").split()
    when = rule.get("when")

    def check(value: Any, old: Any, path: str, run: Run) -> None:
        if (needs_old and old is None) or (when and run.is_update != (when == "update")):
            return
        for names in paths:
            if not _is_present(value, names):
                return
        for found in unless:
            if value.get(found) is not None:
                return
        variables = {"self": value, "oldSelf": old, "object": run.object, "item": None}
        if each is None:
            if evaluate(variables) is False:
                run.errors.append(error_of(reason, _join(path, name), "", message))
            return
        items = list(enumerate(each.values(value)))
        for needed in item_needs:
            items = [(index, item) for index, item in items if needed in item]
        for index, item in items:
            variables["item"] = item
            if evaluate(variables) is False:
                where = _join(each.place(value, path, index), name)
                run.errors.append(error_of(reason, where, "", message))

    return check


def _is_present(value: Any, names: tuple[str, ...]) -> bool:
    for name in names:
        if not isinstance(value, dict) or value.get(name) is None:
            return False
        value = value[name]
    return True


class _Reader:
    """Reads the values at a path below a value; a missing field has none."""

    def __init__(self, path: str) -> None:
        self._steps = tuple(split_path(path))
        self.values = _values_reader(self._steps)
        """Returns the values, in the order of `places`."""

    def places(self, value: Any, path: str) -> list[tuple[str, Any]]:
        """Return the values with their paths, of a value at a path."""
        found = [(path, value)]
        for step in self._steps:
            if step == ITEMS:
                found = [
                    (f"{where}[{index}]", item)
                    for where, items in found
                    for index, item in enumerate(items)
                ]
            elif step == VALUES:
                found = [
                    (f"{where}[{key}]", member)
                    for where, members in found
                    for key, member in members.items()
                ]
            else:
                found = [
                    (f"{where}.{step}" if where else step, holder[step])
                    for where, holder in found
                    if holder.get(step) is not None
                ]
        return found

    def place(self, value: Any, path: str, index: int) -> str:
        """Return the path of one of the values."""
        return self.places(value, path)[index][0]


def _values_reader(steps: Sequence[str]) -> Callable[[Any], list[Any]]:
    """Return a function that reads values without their paths, which only causes need."""
    if not steps:
        return lambda value: [value]
    step, inner = steps[0], _values_reader(steps[1:])
    is_last = len(steps) == 1

    def read_items(value: Any) -> list[Any]:
        return list(value) if is_last else [found for item in value for found in inner(item)]

    def read_values(value: Any) -> list[Any]:
        return [found for member in value.values() for found in inner(member)]

    def read_member(value: Any) -> list[Any]:
        member = value.get(step)
        return [] if member is None else [member] if is_last else inner(member)

    return {ITEMS: read_items, VALUES: read_values}.get(step, read_member)
