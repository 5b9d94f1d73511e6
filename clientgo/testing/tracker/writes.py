"""What a write makes of an object: patches and field ownership, by the code of the embedded server.

Promises the four kinds of patches, and the ``managedFields``, merges and conflicts of server-side
apply, by the published types of the built-in kinds.

Custom resources have no schema here: they take no strategic merge patch, and an apply replaces
their lists whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from clientgo.client import PatchKind
from clientgo.meta import (
    BadRequestError,
    InternalServerError,
    InvalidError,
    UnsupportedMediaTypeError,
)
from clientgo.meta.json_values import JSONObject
from clientgo.meta.patches import InapplicablePatchError, PatchError
from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    FieldManager,
    FieldType,
    ManagedFieldsError,
    TypedValueError,
)
from clientgo.testcluster.fields.patch_kinds import patch_functions
from clientgo.testcluster.schema.field_types import builtin_field_type
from clientgo.testcluster.schema.openapi import builtin_type
from clientgo.testing.tracker.seeds import check_header


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """``writer`` owns the fields of a write to ``subresource``; ``dry_run`` stores nothing."""

    writer: str = ""
    subresource: str = ""
    dry_run: bool = False


PLAIN_WRITE: Final = WriteOptions()


def patched(live: JSONObject, patch: Any, kind: str) -> JSONObject:
    """Return ``live`` with ``patch`` applied to it; neither is changed.

    To apply, here, is to merge: who owns what is left to :func:`applied`. Raises
    :class:`~clientgo.meta.BadRequestError` for a malformed patch,
    :class:`~clientgo.meta.InvalidError` for one that does not fit the object,
    :class:`~clientgo.meta.UnsupportedMediaTypeError` for a kind of patch that it does not take.
    """
    functions = patch_functions(builtin_type(*_type_of(live)))
    if kind == PatchKind.APPLY:
        kind = PatchKind.STRATEGIC if PatchKind.STRATEGIC in functions else PatchKind.MERGE
    if kind not in functions:
        raise UnsupportedMediaTypeError.of(
            f"a {live['kind']} takes no patch of the kind {kind!r}, but {', '.join(functions)}; "
            "only built-in kinds take a strategic merge patch"
        )
    with _refusals():
        result = functions[kind](live, patch)
    if not isinstance(result, dict):
        raise BadRequestError.of(f"the patch makes a {type(result).__name__} of the object")
    return result


def owned(
    live: JSONObject | None, new: JSONObject, options: WriteOptions, now: Callable[[], float]
) -> JSONObject:
    """Return ``new`` with the owners of its fields, after it was written over ``live``.

    It has none if it does not fit its type, as on a server that has let it pass.
    """
    manager = _manager_of(new, options, now)
    try:
        return manager.update(live or _empty(new), new, options.writer)
    except TypedValueError:
        new["metadata"].pop("managedFields", None)
        return new


def applied(
    live: JSONObject | None,
    config: JSONObject,
    options: WriteOptions,
    now: Callable[[], float],
    *,
    force: bool,
) -> JSONObject:
    """Return ``live`` with ``config`` applied to it.

    Raises :class:`~clientgo.testcluster.fields.managed_fields.ApplyConflictError` for fields of
    other writers, :class:`~clientgo.meta.InternalServerError` for what does not fit its type.
    """
    manager = _manager_of(config, options, now)
    with _refusals():
        return manager.apply(live or _empty(config), config, options.writer, force=force)


def _manager_of(obj: JSONObject, options: WriteOptions, now: Callable[[], float]) -> FieldManager:
    api_version, kind = _type_of(obj)
    return FieldManager(
        api_version=api_version,
        kind=kind,
        types=_field_type,
        subresource=options.subresource,
        now=now,
    )


def _empty(like: JSONObject) -> JSONObject:
    return {"apiVersion": like["apiVersion"], "kind": like["kind"]}


def _field_type(api_version: str, kind: str) -> FieldType:
    return builtin_field_type(api_version, kind) or DEDUCED


def _type_of(obj: JSONObject) -> tuple[str, str]:
    name = check_header(obj)
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not api_version or not kind:
        raise BadRequestError.of(
            f"the object {name!r} must say its apiVersion and kind to be patched or to have owners"
        )
    return api_version, kind


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise what a server would answer."""
    try:
        yield
    except InapplicablePatchError as error:
        raise InvalidError.of(str(error)) from error
    except PatchError as error:
        raise BadRequestError.of(str(error)) from error
    except (TypedValueError, ManagedFieldsError) as error:
        raise InternalServerError.of(str(error)) from error
