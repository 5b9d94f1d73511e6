"""Patches: the body of a PATCH as a function from the current object to the wanted one.

Promises: the patch is parsed once, before the object is read. A malformed patch is a 400, one that
does not fit the object a 422. The patched object is validated by ``objects.writer``.

Upstream: apiserver ``endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.http.bodies import media_type, parse_json
from clientgo.apiserver.http.messages import Request
from clientgo.apiserver.resources.errors import (
    RequestError,
    bad_request,
    internal,
    unsupported_media_type,
)
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.patches import (
    InapplicablePatchError,
    PatchError,
    apply_json_patch,
    apply_merge_patch,
)
from clientgo.meta.patches.strategic_merge import apply_strategic_merge_patch

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_OPERATIONS = 10_000
"""Maximum operations of a JSON patch, as upstream."""

Patcher = Callable[[Object], Object]


def make_patcher(request: Request, resource: Resource) -> Patcher:
    """Read the patch in a request.

    Raises:
        RequestError: 415 or 400, the patch is of no known type or can't be read.
    """
    check_patch_type(request, resource)
    apply_patch = _patch_types(resource)[media_type(request)]
    patch, _ = parse_json(request.body)
    if media_type(request) == JSON_PATCH and isinstance(patch, list):
        _check_operations(len(patch))
    strategic = media_type(request) == STRATEGIC_PATCH

    def patcher(current: Object) -> Object:
        try:
            patched = apply_patch(current, patch)
        except InapplicablePatchError as error:
            if strategic:
                raise internal(str(error)) from error  # unclassified upstream
            raise RequestError(422, "Invalid", str(error)) from error
        except PatchError as error:
            raise bad_request(str(error)) from error
        if not isinstance(patched, dict):
            raise bad_request("the patched object is no object")
        return patched

    return patcher


def check_patch_type(request: Request, resource: Resource) -> None:
    """Refuse a patch of a type that the resource does not have.

    Raises:
        RequestError: 415.
    """
    types = [*_patch_types(resource), APPLY_PATCH]
    if media_type(request) not in types:
        raise unsupported_media_type(types)


def _check_operations(count: int) -> None:
    if count > _OPERATIONS:
        raise RequestError(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {_OPERATIONS}, got {count}",
        )


def _patch_types(resource: Resource) -> dict[str, Callable[[Any, Any], Any]]:
    types: dict[str, Callable[[Any, Any], Any]] = {
        JSON_PATCH: apply_json_patch,
        MERGE_PATCH: apply_merge_patch,
    }
    if (schema := resource.strategy.patch_schema) is not None:
        types[STRATEGIC_PATCH] = lambda current, patch: apply_strategic_merge_patch(
            current, patch, schema
        )
    return types


def is_apply(request: Request) -> bool:
    """Return True if the patch is a server-side apply."""
    return media_type(request) == APPLY_PATCH
