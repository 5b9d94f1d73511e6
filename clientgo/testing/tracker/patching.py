"""The patches that a fake understands, on JSON values.

Promises the four kinds of the API; fields that a patch removes are gone. A strategic merge goes by
the published types of the built-in kinds and is refused for any other, as a server does.

Applying, here, is a strategic merge, for custom resources a merge that replaces lists; who owns
what is the business of :mod:`clientgo.testing.tracker.field_ownership`.
"""

from __future__ import annotations

from typing import Any

from clientgo.client import PatchKind
from clientgo.meta import BadRequestError, InvalidError, UnsupportedMediaTypeError
from clientgo.meta.json_values import JSONObject
from clientgo.meta.patches import (
    InapplicablePatchError,
    PatchError,
    apply_json_patch,
    apply_merge_patch,
)
from clientgo.testcluster.fields.strategic_merge import (
    apply_strategic_merge_patch,
)
from clientgo.testcluster.schema.openapi import builtin_type


def patched(live: JSONObject, patch: Any, kind: str) -> JSONObject:
    """``live`` with ``patch`` applied to it; neither is changed.

    Raises :class:`~clientgo.meta.BadRequestError` for a malformed patch,
    :class:`~clientgo.meta.InvalidError` for one that does not fit the object,
    :class:`~clientgo.meta.UnsupportedMediaTypeError` for a kind of patch that it does not take.
    """
    try:
        result = _patched(live, patch, kind)
    except InapplicablePatchError as error:
        raise InvalidError.of(str(error)) from error
    except PatchError as error:
        raise BadRequestError.of(str(error)) from error
    if not isinstance(result, dict):
        raise BadRequestError.of(f"the patch makes a {type(result).__name__} of the object")
    return result


def _patched(live: JSONObject, patch: Any, kind: str) -> Any:
    if kind == PatchKind.JSON:
        return apply_json_patch(live, patch)
    if kind == PatchKind.MERGE:
        return apply_merge_patch(live, patch)
    if kind not in (PatchKind.STRATEGIC, PatchKind.APPLY):
        raise UnsupportedMediaTypeError.of(f"{kind!r} is no kind of patch; use a PatchKind")
    type_ = builtin_type(live["apiVersion"], live["kind"])
    if type_ is not None:
        return apply_strategic_merge_patch(live, patch, type_)
    if kind == PatchKind.APPLY:
        return apply_merge_patch(live, patch)
    raise UnsupportedMediaTypeError.of(
        f"{live['kind']} is no built-in kind and takes no strategic merge patch; use a merge patch"
    )
