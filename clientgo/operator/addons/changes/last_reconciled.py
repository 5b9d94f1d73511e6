"""Where the compared fields are kept between runs: in the object itself.

Promises that nothing is written while the fields are the same; that a note in the status goes with
the other notes of the framework, one in an annotation with the resource that a result writes, or in
a request of its own; that a note alone wakes no controller that has one; and that an object which
was copied or restored under another uid is new.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from clientgo.meta import (
    APIResource,
    ConflictError,
    NotFoundError,
    ObjectName,
    metadata_of,
    to_plain,
)
from clientgo.meta.decoding import decode
from clientgo.meta.json_values import without_nulls
from clientgo.operator.addons.changes.changes import Changes, Field, fields_of
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.differences import changed_fields
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.client.object_writes import read_again
from clientgo.operator.controller.declaration import Declaration
from clientgo.operator.errors import ConfigError, DeclarationError, is_gone
from clientgo.operator.mappers import field_at
from clientgo.operator.predicates import Predicate, UpdatePredicate
from clientgo.operator.reconciler import Shape
from clientgo.operator.status import (
    ObservedGeneration,
    has_status_fields,
    status_of,
    status_type_of,
)
from clientgo.util.copies import uncopyable

_LONGEST_NAME: Final = 63
"""Of the part of an annotation's name after the slash."""

_ATTEMPTS: Final = 10
"""To write a note while other clients write the object."""


class LastReconciled(ObservedGeneration):
    """Base of a status type in which the compared fields are kept, by controller; or give your type
    this field. Without it they are in an annotation."""

    last_reconciled: dict[str, str] = {}


class _Note(msgspec.Struct):
    """What is kept, as JSON text."""

    uid: str
    fields: dict[str, Any]


def keeper_of(declaration: Declaration, shape: Shape, controller: str) -> StateKeeper | None:
    """Return what keeps the fields that a declaration names; None if it names none.

    Raises ``ConfigError``, ``DeclarationError``.
    """
    if not declaration.changes:
        return None
    if shape.reconcile is None:
        raise DeclarationError(
            f"controller {controller}: changes are those of an object; write "
            "reconcile(self, ctx, obj), not reconcile_key"
        )
    primary = declaration.primary
    fields = fields_of(declaration.changes, primary, controller)
    return StateKeeper(controller, api_resource(primary), primary, fields)


@uncopyable("it has locks; make one in each process")
class StateKeeper:
    """Keeps the fields of one controller. Thread-safe. Raises ``ConfigError``."""

    def __init__(
        self, controller: str, primary: APIResource, kind: Any, fields: tuple[Field, ...]
    ) -> None:
        self._controller = controller
        self._fields = {field.path: field for field in fields}
        self.in_status = has_status_fields(kind, LastReconciled)
        self._status_type = status_type_of(kind) if self.in_status else None
        name = f"{controller}-last-reconciled"
        if not self.in_status and len(name) > _LONGEST_NAME:
            raise ConfigError(
                f"controller {controller}: its name is too long for the annotation {name}; "
                f"give it one of at most {_LONGEST_NAME - len(name) + len(controller)} letters"
            )
        domain = f"{primary.plural}.{primary.group or 'core.clientgo'}"
        self._annotation = f"{domain}/{name}"
        self._path = ("status", "lastReconciled") if self.in_status else ("metadata", "annotations")
        self._key = controller if self.in_status else self._annotation

    def compare(self, obj: Any, *, resumed: bool) -> Changes:
        """Return what has changed in an object since its note."""
        plain, uid = to_plain(obj), metadata_of(obj).uid
        notes = field_at(plain, self._path) or {}
        note = _decoded(notes.get(self._key))
        return Changes(
            self._fields,
            {path: field.of(plain) for path, field in self._fields.items()},
            note.fields if note is not None and note.uid == uid else None,
            resumed=resumed,
            uid=uid,
            notes=notes,
        )

    def put(self, changes: Changes, obj: Any) -> None:
        """Put the note of a run into an object about to be written.

        Notes of other controllers stay.
        """
        before = changes.notes
        text = before.get(self._key) if changes.kept else _text(changes)
        notes = {} if text is None else {self._key: text}
        if self.in_status:
            status = status_of(obj)
            status.last_reconciled = {**before, **status.last_reconciled, **notes}
        else:
            metadata = metadata_of(obj)
            metadata.annotations = {**(metadata.annotations or {}), **notes}

    def write(self, client: LiveClient, changes: Changes, current: Any) -> Any:
        """Write the annotation, unless ``current`` has it; return the object as it is then.

        Whatever has happened to the object since, this is the state that was reconciled. An object
        that is gone needs no note. Raises ``ConflictError`` if there is a note that the run has not
        read: it is of an earlier run whose answer was lost, and a change since then was not shown.
        """
        text, read = _text(changes), changes.notes.get(self._key)
        if self.in_status or changes.kept or read == text:
            return current
        for _ in range(_ATTEMPTS):
            there = (field_at(current, self._path) or {}).get(self._key)
            if there == text:
                return current
            if there not in (None, read):
                break
            metadata = metadata_of(current)
            note = {"resourceVersion": metadata.resource_version, "annotations": {self._key: text}}
            try:
                return client.patch(current, {"metadata": note})
            except NotFoundError as error:
                if is_gone(error, metadata.name):
                    return current
                raise
            except ConflictError:
                newer = read_again(client, current)
            if newer is None or metadata_of(newer).uid != metadata.uid:
                return current
            current = newer
        raise ConflictError.of(f"{ObjectName.of(current)} has changed since the run read its note")

    def wakes(self) -> Predicate:
        """Return the predicate that stops updates which changed nothing but the note."""
        where = {f"{'.'.join(self._path)}{step}" for step in (f"[{self._key!r}]", f".{self._key}")}

        def passes(old: Any, new: Any) -> bool:
            before, after = (field_at(obj, self._path) or {} for obj in (old, new))
            if before.get(self._key) == after.get(self._key):
                return True
            changed = changed_fields(self._with_status(old), new)
            return not (len(changed) == 1 and changed[0] in where)

        return UpdatePredicate(passes, "not only the note of ctx.changes")

    def _with_status(self, obj: Any) -> Any:
        """Return an object as it is when a note makes the status that it did not have."""
        plain = to_plain(obj)
        if self._status_type is None or plain.get("status") is not None:
            return plain
        return plain | {"status": without_nulls(msgspec.to_builtins(self._status_type()))}


def _decoded(text: Any) -> _Note | None:
    try:
        return None if text is None else decode(text, _Note)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return None  # edited by hand: as if it were new


def _text(changes: Changes) -> str:
    note = _Note(changes.uid, dict(changes.now))
    return msgspec.json.encode(note, order="deterministic").decode()
