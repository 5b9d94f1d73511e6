"""Check an object by a rule of a table, an expression in CEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clientgo.testcluster.server.kinds.tables.expressions import Expression
from clientgo.testcluster.server.kinds.tables.validation.causes import Check, Run, error_of, join
from clientgo.testcluster.server.kinds.tables.validation.places import Reader


def compile_rule(rule: Mapping[str, Any]) -> Check:
    """Return the check of a rule."""
    evaluate = Expression(rule["rule"]).evaluate
    needs_old = "oldSelf" in rule["rule"]
    reason, name = rule.get("reason", "Invalid"), rule.get("field", "")
    without = "" if reason == "Required" else f"failed rule: {rule['rule']}"
    message = rule.get("message", without)
    shown = _shown_by(name)
    each = Reader(rule["each"]) if "each" in rule else None
    needs = rule.get("needs", "").split()
    item_needs = [name.removeprefix("item.") for name in needs if name.startswith("item.")]
    paths = [tuple(name.split(".")) for name in needs if not name.startswith("item.")]
    needed = [(path[0], path[1:]) for path in paths]
    unless = rule.get("unless", "").split()
    when = rule.get("when")

    def check(value: Any, old: Any, path: str, run: Run) -> None:
        if (needs_old and old is None) or (when and run.is_update != (when == "update")):
            return
        for first, below in needed:
            found = value.get(first)
            if found is None or (below and not _is_present(found, below)):
                return
        for absent in unless:
            if value.get(absent) is not None:
                return
        variables = {"self": value, "oldSelf": old, "object": run.object, "item": None}
        if each is None:
            if evaluate(variables) is False:
                run.errors.append(error_of(reason, join(path, name), shown(value), message))
            return
        place = each.finder(value, path)
        for index, item in enumerate(each.values(value)):
            if item_needs and not all(field in item for field in item_needs):
                continue
            variables["item"] = item
            if evaluate(variables) is False:
                error = error_of(reason, join(place(index), name), shown(item), message)
                run.errors.append(error)

    return check


def _shown_by(name: str) -> Callable[[Any], Any]:
    """Return what reads the bad value at a field; of structs and what is not there, nothing."""
    steps = [] if name.startswith("^") or "[" in name else name.split(".") if name else []
    is_elsewhere = bool(name) and not steps

    def read(value: Any) -> Any:
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return value if not is_elsewhere and (is_list or isinstance(value, str | int)) else ""

    return read


def _is_present(value: Any, names: tuple[str, ...]) -> bool:
    for name in names:
        if not isinstance(value, dict) or value.get(name) is None:
            return False
        value = value[name]
    return True
