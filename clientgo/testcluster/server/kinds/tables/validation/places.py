"""Check values at several places: references to others, and values that must differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from clientgo.testcluster.server.kinds.tables.kind_table import ITEMS, VALUES, split_path
from clientgo.testcluster.server.kinds.tables.validation.causes import Check, Run, error_of, join


def reference_check(entry: Mapping[str, Any]) -> Check:
    """Check that values name something at other places, where no error was found."""
    names = Reader(entry["each"])
    targets = [Reader(path) for path in entry["to"]]
    reason, by = entry.get("reason", "NotFound"), entry.get("by")

    def known(value: Any, path: str, run: Run) -> set[Any]:
        if not run.errors:
            return {target for read in targets for target in read.values(value)}
        wrong = _all_above(run)
        return {
            target
            for read in targets
            for where, target in read.places(value, path)
            if _item_of(where) not in wrong
        }

    def check(value: Any, _old: Any, path: str, run: Run) -> None:
        items = names.values(value)
        if not items:
            return
        found = known(value, path, run)
        place = names.finder(value, path)
        for index, item in enumerate(items):
            name = item if by is None else item.get(by)
            if name not in found and (name or by is None):
                run.errors.append(error_of(reason, place(index), name, ""))

    return check


def _item_of(path: str) -> str:
    """Return the path of the list item that a path is within."""
    return path[: path.rindex("]") + 1] if "]" in path else path


def _all_above(run: Run) -> set[str]:
    """Return the paths at which there are errors, or below which."""
    found = {error.field for error in run.errors}
    for field in list(found):
        found.update(field[: step.start()] for step in _STEP.finditer(field))
    return found


_STEP: Final = re.compile(r"[.\[]")


def distinct_check(entry: Mapping[str, Any]) -> Check:
    """Check that values at some paths differ, as a whole or in some fields."""
    readers = [Reader(path) for path in entry["of"]]
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
                    run.errors.append(error_of(reason, join(reported, where), "", ""))
                if key and (key not in seen or report == "earlier"):
                    seen[key] = place

    return check


class Reader:
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

    def finder(self, value: Any, path: str) -> Callable[[int], str]:
        """Return a function that returns the path of a value by its index."""
        places: list[tuple[str, Any]] = []

        def find(index: int) -> str:
            if not places:  # only causes need them
                places.extend(self.places(value, path))
            return places[index][0]

        return find


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
