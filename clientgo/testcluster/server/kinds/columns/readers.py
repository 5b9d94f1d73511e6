"""Readers of fields for columns, and the words that cells use.

Promises: a reader takes any stored object, whatever optional fields it has, and returns what
kubectl shows: ``<none>`` for an empty list, ``<unset>`` for an optional field.

Upstream: the helpers of ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clientgo.meta.selectors import SelectorError, format_labels, selector_from_object
from clientgo.testcluster.server.resources.columns import CellReader, age_since
from clientgo.testcluster.server.storage.storage import Object

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"

_MOST_SHOWN = 3


def find(obj: Any, path: str) -> Any:
    """Return a field by its dotted path; None if it is missing."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def shortened(items: Sequence[str], empty: str) -> str:
    """Return the first items of a list, and the number of the others."""
    shown = ",".join(items[:_MOST_SHOWN]) or empty
    more = len(items) - _MOST_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown


def conditions(obj: Object) -> dict[str, str]:
    """Return the status of each condition by its type."""
    return {item["type"]: item["status"] for item in find(obj, "status.conditions") or ()}


def is_deleted(obj: Object) -> bool:
    """Return True if an object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


# -- readers


def text(path: str, default: str = "") -> CellReader:
    """Read a field as text; ``default`` if it is missing or empty."""
    return lambda obj: str(value) if (value := find(obj, path)) not in (None, "") else default


def raw(path: str, default: str) -> CellReader:
    """Read a field as it is; ``default`` if it is missing."""
    return lambda obj: default if (found := find(obj, path)) is None else found


def number(path: str) -> CellReader:
    """Read a number; 0 if it is missing."""
    return lambda obj: find(obj, path) or 0


def count(*paths: str) -> CellReader:
    """Count the members of lists or maps."""
    return lambda obj: sum(len(find(obj, path) or ()) for path in paths)


def age(path: str, default: str = UNKNOWN) -> CellReader:
    """Read a time as the duration since then."""
    return lambda obj: age_since(value) if (value := find(obj, path)) else default


def yes_or_no(path: str) -> CellReader:
    """Read a flag as a boolean."""
    return lambda obj: bool(find(obj, path))


def truth(path: str) -> CellReader:
    """Read a flag as the text True or False."""
    return lambda obj: str(bool(find(obj, path)))


def joined(path: str, default: str = NONE) -> CellReader:
    """Read the members of a list."""
    return lambda obj: ",".join(map(str, find(obj, path) or ())) or default


def fraction(part: str, whole: str) -> CellReader:
    """Read two numbers as a fraction."""
    return lambda obj: f"{find(obj, part) or 0}/{find(obj, whole) or 0}"


def selector(path: str) -> CellReader:
    """Read a label selector, of either form; one that is not valid as upstream shows it."""

    def read(obj: Object) -> str:
        found = find(obj, path)
        if not found:
            return NONE
        if found.keys() & {"matchLabels", "matchExpressions"}:
            try:
                return str(selector_from_object(found)) or NONE
            except SelectorError:
                return "<error>"
        return format_labels(found)

    return read


def names_of(path: str, field: str) -> CellReader:
    """Read one field of every object in a list."""
    return lambda obj: ",".join(item.get(field, "") for item in find(obj, path) or ())


def addresses(ingress: Iterable[Object]) -> list[str]:
    """Return the addresses of a load balancer."""
    return [item.get("ip") or item.get("hostname", "") for item in ingress]
