"""What columns of built-in kinds are made of: readers of fields, and the words that cells use.

Promises: a reader takes any stored object, whatever optional fields it lacks, and answers what
kubectl users know: ``<none>`` for an empty list, ``<unset>`` for what somebody could have set.

Upstream: the helpers of ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clientgo.apiserver.resources.columns import CellReader, age_since
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.label_selector_objects import selector_from_object
from clientgo.meta.labels import format_labels

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"

_MOST_SHOWN = 3


def find(obj: Any, path: str) -> Any:
    """A field by its dotted path; None if it is absent."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def shortened(items: Sequence[str], empty: str) -> str:
    """The first few of a list, and how many there are more."""
    shown = ",".join(items[:_MOST_SHOWN]) or empty
    more = len(items) - _MOST_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown


def conditions(obj: Object) -> dict[str, str]:
    """The status of each condition by its type."""
    return {item["type"]: item["status"] for item in find(obj, "status.conditions") or ()}


def is_deleted(obj: Object) -> bool:
    """Whether an object only waits for its finalizers."""
    return "deletionTimestamp" in obj["metadata"]


# -- readers


def text(path: str, default: str = "") -> CellReader:
    """A field as text; ``default`` if it is absent or empty."""
    return lambda obj: str(value) if (value := find(obj, path)) not in (None, "") else default


def number(path: str) -> CellReader:
    """A number, 0 if it is absent."""
    return lambda obj: find(obj, path) or 0


def count(*paths: str) -> CellReader:
    """How many members some lists or maps have together."""
    return lambda obj: sum(len(find(obj, path) or ()) for path in paths)


def age(path: str, default: str = UNKNOWN) -> CellReader:
    """How long ago something was."""
    return lambda obj: age_since(value) if (value := find(obj, path)) else default


def yes_or_no(path: str) -> CellReader:
    """A flag, as a boolean."""
    return lambda obj: bool(find(obj, path))


def truth(path: str) -> CellReader:
    """Read a flag as the text True or False."""
    return lambda obj: str(bool(find(obj, path)))


def joined(path: str, default: str = NONE) -> CellReader:
    """The members of a list."""
    return lambda obj: ",".join(map(str, find(obj, path) or ())) or default


def fraction(part: str, whole: str) -> CellReader:
    """How many of how many."""
    return lambda obj: f"{find(obj, part) or 0}/{find(obj, whole) or 0}"


def selector(path: str) -> CellReader:
    """A label selector, of either form."""

    def read(obj: Object) -> str:
        found = find(obj, path)
        if not found:
            return NONE
        if found.keys() & {"matchLabels", "matchExpressions"}:
            return str(selector_from_object(found)) or NONE
        return format_labels(found)

    return read


def names_of(path: str, field: str) -> CellReader:
    """Read one field of every object in a list."""
    return lambda obj: ",".join(item.get(field, "") for item in find(obj, path) or ())


def addresses(ingress: Iterable[Object]) -> list[str]:
    """Where a load balancer can be reached."""
    return [item.get("ip") or item.get("hostname", "") for item in ingress]
