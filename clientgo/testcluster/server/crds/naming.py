"""Which names of a definition are accepted: those that no other resource of its group has.

Upstream: apiextensions-apiserver ``pkg/controller/status/naming_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Names = Mapping[str, Any]
"""``spec.names`` or ``status.acceptedNames`` of a definition."""

_FIELDS = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)


class TakenNames(msgspec.Struct):
    """The names that other resources of a group have."""

    resources: set[str] = msgspec.field(default_factory=set)
    kinds: set[str] = msgspec.field(default_factory=set)

    def add(self, names: Names) -> None:
        """Add the names of a resource."""
        self.resources.update((names.get("plural", ""), names.get("singular", "")))
        self.resources.update(names.get("shortNames", ()))
        self.kinds.update((names.get("kind", ""), names.get("listKind", "")))


class Acceptance(msgspec.Struct, frozen=True):
    """The names that a definition has now, and the reason and message if one is refused."""

    names: dict[str, Any]
    reason: str = ""
    message: str = ""


def accept_names(wanted: Names, accepted: Names, taken: TakenNames) -> Acceptance:
    """Accept each name that is free; a name that is not stays what it was.

    If several names are taken, the reason is that of the last.
    """
    names, reason, message = dict(accepted), "", ""
    for name, conflict in _FIELDS:
        used = taken.kinds if name in ("kind", "listKind") else taken.resources
        current = _listed(accepted.get(name))
        clashes = [item for item in _listed(wanted.get(name)) if item in used - set(current)]
        if clashes:
            reason = conflict
            problems = [f'"{item}" is already in use' for item in clashes]
            message = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        else:
            _set(names, name, wanted.get(name))
    _set(names, "categories", wanted.get("categories"))
    return Acceptance(names, reason, message)


def _set(names: dict[str, Any], name: str, value: Any) -> None:
    if value:
        names[name] = value
    else:
        names.pop(name, None)


def _listed(value: str | Iterable[str] | None) -> list[str]:
    if isinstance(value, str):
        return [value]
    return list(value or ())
