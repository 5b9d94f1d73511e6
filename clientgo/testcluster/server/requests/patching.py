"""Patches: the body of a PATCH as a function from the current object to the wanted one.

Promises: the patch is parsed once, before the object is read. A malformed patch is a 400, one that
does not fit the object a 422. The patched object is validated by ``objects.writer``.

Upstream: apiserver ``endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.meta.nesting import is_deeper_than
from clientgo.meta.patches import (
    InapplicablePatchError,
    PatchError,
    UnprocessablePatchError,
)
from clientgo.testcluster.fields.patch_kinds import (
    JSON_PATCH,
    STRATEGIC_PATCH,
    patch_functions,
)
from clientgo.testcluster.server.http.bodies import parse_json
from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    internal,
    unrouted_media_type,
    unsupported_media_type,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import MOST_LEVELS, fold, unfold
from clientgo.testcluster.server.storage.storage import Object

APPLY_PATCH = "application/apply-patch+yaml"

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})

_OPERATIONS = 10_000
"""Maximum operations of a JSON patch, as upstream."""


class Patch(msgspec.Struct, frozen=True):
    """A patch that has been read."""

    apply: Callable[[Object], Object]
    """Returns the patched object."""
    duplicates: tuple[str, ...] = ()
    """The problems of fields that the patch has twice, or does not know."""
    is_strategic: bool = False


def patch_type(request: Request) -> str:
    """Return the Content-Type of a patch without its parameters; it is compared as it is."""
    return request.headers.get("content-type", "").partition(";")[0]


def read_patch(request: Request, resource: Resource) -> Patch:
    """Read the patch in a request.

    Raises:
        FailedRequestError: 415 or 400, the patch is of no known type or can't be read.
    """
    check_patch_type(request, resource)
    kind = patch_type(request)
    apply_patch = patch_functions(resource.strategy.patch_schema)[kind]
    patch, duplicates = parse_json(request.body)
    if kind == STRATEGIC_PATCH and patch is None:
        patch = {}  # as Go reads it
    deep = kind != STRATEGIC_PATCH and is_deeper_than(request.body, MOST_LEVELS)
    if deep:
        patch = unfold(patch)
    if kind == JSON_PATCH:
        duplicates = tuple(f"json patch {text}" for text in (*duplicates, *_unknown_fields(patch)))
    strategic = kind == STRATEGIC_PATCH

    def patched(current: Object) -> Object:
        if kind == JSON_PATCH:
            _check_operations(patch)
        try:
            if deep or kind == JSON_PATCH:  # whose paths may lead into what is kept as JSON
                result = apply_patch(unfold(current), patch)
                fold(result)
            else:
                result = apply_patch(current, patch)
        except InapplicablePatchError as error:
            if strategic and not isinstance(error, UnprocessablePatchError):
                raise internal(str(error)) from error  # unclassified upstream
            raise FailedRequestError(422, "Invalid", str(error), {}) from error
        except PatchError as error:
            raise bad_request(str(error)) from error
        if not isinstance(result, dict):
            raise bad_request("the patched object is no object")
        return result

    return Patch(patched, duplicates, strategic)


def _unknown_fields(operations: Any) -> list[str]:
    """Return the problems of the fields that an operation of a JSON patch does not have."""
    if not isinstance(operations, list):
        return []
    return [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]


def check_patch_type(request: Request, resource: Resource) -> None:
    """Refuse a patch of a type that the resource does not have.

    Raises:
        FailedRequestError: 415.
    """
    types = [*patch_functions(resource.strategy.patch_schema), APPLY_PATCH]
    if patch_type(request) not in types:
        raise unsupported_media_type(types) if resource.is_custom else unrouted_media_type()


def _check_operations(patch: Any) -> None:
    """Refuse what is no list of operations.

    Raises:
        FailedRequestError: 400 or 413.
    """
    if not isinstance(patch, list) or not all(isinstance(item, dict) for item in patch):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    for operation in patch:
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name), str | None):
                raise bad_request(f"error decoding patch: {name} of an operation is no string")
    if len(patch) > _OPERATIONS:
        raise FailedRequestError(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {_OPERATIONS}, got {len(patch)}",
        )


def is_apply(request: Request) -> bool:
    """Return True if the patch is a server-side apply."""
    return patch_type(request) == APPLY_PATCH
