"""The fields that a controller compares, and what a run is given of them.

Source: kopf, ``diff``, ``old`` and the reasons of its handlers, which are kept for whole objects.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

import msgspec

from clientgo.operator.errors import ConfigError
from clientgo.operator.mappers import field_at
from clientgo.util.copies import uncopyable

_STEP: Final = re.compile(r"(?:^|\.)([A-Za-z0-9_-]+)|\['([^']+)'\]")
_WHOLE: Final = (("metadata",), ("metadata", "annotations"), ("status",))
"""Fields that have what this package keeps, so that each note would be a change."""

_DIGEST_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class Digest:
    """A field of which a digest is kept instead of the value; :func:`digest` makes it."""

    path: str


def digest(path: str) -> Digest:
    """Compare a field by a digest: for large values, and for those that must not be copied."""
    return Digest(path)


Compared: TypeAlias = str | Digest
"""The path of a field: ``spec.version``, ``metadata.labels['example.com/tier']``."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field that a controller compares."""

    path: str
    parts: tuple[str, ...]
    by_digest: bool

    def of(self, plain: Mapping[str, Any]) -> Any:
        """Return what is kept of the field: its value, None if it is absent, or its digest.

        ``plain`` is the object as JSON: to make that is what a comparison costs.
        """
        value = field_at(plain, self.parts)
        if not self.by_digest or value is None:
            return value
        text = msgspec.json.encode(value, order="deterministic")
        return hashlib.sha256(text).hexdigest()[:_DIGEST_LENGTH]


def fields_of(compared: Iterable[Compared], kind: Any, controller: str) -> tuple[Field, ...]:
    """Return the fields of a kind that a declaration names. Raises ``ConfigError``."""
    found: dict[str, Field] = {}
    for each in compared:
        path = each.path if isinstance(each, Digest) else each
        parts = _parts_of(path)
        if not parts or parts in _WHOLE:
            raise ConfigError(
                f"controller {controller}: changes={path!r} is no field that can be compared; "
                "write it as spec.version or metadata.labels['example.com/tier'], and name single "
                "fields of metadata, annotations and status"
            )
        _check_declared(kind, parts, f"controller {controller}: changes={path!r}")
        found[path] = Field(path, parts, isinstance(each, Digest))
    return tuple(found.values())


def _check_declared(kind: Any, parts: Iterable[str], where: str) -> None:
    """Raise ``ConfigError`` for a field that a class does not declare: it would never change.

    Where a type says nothing of its fields, as a dictionary, any will do.
    """
    struct = getattr(kind, "__body__", None)
    for part in parts:
        if struct is None or part == "metadata":
            return
        try:
            declared = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        except NameError:
            return  # a type of it is known in a function only
        if part not in declared:
            near = difflib.get_close_matches(part, declared, 3) or sorted(declared)
            raise ConfigError(
                f"{where}: {struct.__name__} has no field {part!r} in its JSON, but "
                f"{', '.join(near)}"
            )
        struct = _struct_in(declared[part])


def _struct_in(hint: Any) -> type[msgspec.Struct] | None:
    """Return the Struct that a field holds, perhaps instead of None."""
    if get_origin(hint) in (Annotated, Union, UnionType):
        return next(filter(None, map(_struct_in, get_args(hint))), None)
    return hint if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else None


def _parts_of(path: Any) -> tuple[str, ...]:
    if not isinstance(path, str):
        return ()
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        return ()
    return tuple(step[1] or step[2] for step in steps)


@uncopyable("it has locks; make one in each process")
class Changes:
    """What differs from the state that was last reconciled successfully; ``ctx.changes``.

    True if a field differs. It shows the same until a run has succeeded: a change is seen at least
    once, and several changes between two runs are one. For the thread of one run.
    """

    __slots__ = ("_before", "_fields", "first", "kept", "notes", "now", "resumed", "uid")

    def __init__(
        self,
        fields: Mapping[str, Field],
        now: Mapping[str, Any],
        before: Mapping[str, Any] | None,
        *,
        resumed: bool,
        uid: str = "",
        notes: Mapping[str, str] | None = None,
    ) -> None:
        self._fields = fields
        self.now = now
        """What a success keeps of each field."""
        self.uid = uid
        self.notes = notes or {}
        """What is kept already, of other controllers too."""
        self._before = before
        self.first = before is None
        """True if no run for this object has succeeded yet, in any process."""
        self.resumed = resumed and not self.first
        """True if runs have succeeded, but none in this process: it started, or leads now."""
        self.kept = False
        """True after :meth:`keep`."""

    def __bool__(self) -> bool:
        return bool(self.paths)

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that have changed, in the order of their declaration; none at first sight."""
        return tuple(path for path in self._fields if self.changed(path))

    def changed(self, path: str) -> bool:
        """Return True if a field differs from what was reconciled last; False at first sight.

        Raises ``LookupError`` for a field that is not declared.
        """
        self._declared(path)
        if self._before is None or path not in self._before:
            return False
        return bool(self._before[path] != self.now[path])

    def old(self, path: str) -> Any:
        """Return the value that was reconciled last, as JSON; None if it is absent or not known.

        Raises ``LookupError`` for a field that is not declared, or compared by its digest.
        """
        if self._declared(path).by_digest:
            raise LookupError(f"only a digest of {path} is kept: ask changed({path!r})")
        return None if self._before is None else self._before.get(path)

    def keep(self) -> None:
        """Show the same to the next run too, even if this run succeeds.

        For a reaction that takes several runs.
        """
        self.kept = True

    def _declared(self, path: str) -> Field:
        try:
            return self._fields[path]
        except KeyError:
            raise LookupError(
                f"{path} is not compared, but {', '.join(self._fields)}; add it to "
                "@controller(..., changes=[...])"
            ) from None
