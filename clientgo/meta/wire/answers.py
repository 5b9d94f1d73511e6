"""What counts as an answer: which JSON is an object, which is a list, and which is a refusal.

Promises: JSON that is neither raises; no missing field is read as "nothing is there". A ``Status``
of failure raises its error, whatever its HTTP code was.

Differs from client-go (`rest` Result.Into), which takes ``{}`` for an empty object of any type and
``{"items": null}`` for an empty list. Source of the rest: apimachinery `runtime/serializer/json`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, field

from clientgo.meta.decoding import convert_leniently, decode
from clientgo.meta.errors import error_from_status
from clientgo.meta.group_version import APIResource
from clientgo.meta.objects.object_meta import ABSENT
from clientgo.meta.status import Status
from clientgo.meta.wire.outer_json import REFUSALS, Page, TypeMeta, outer_of, why
from clientgo.util.copies import CopyableError

_TABLE_VERSIONS: Final = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
_STATUS_VERSIONS: Final = ("v1", "", *_TABLE_VERSIONS)
_SUCCESS: Final = "Success"


class DecodeError(CopyableError, ValueError):
    """Bytes from the server that are no JSON, or not the object, list or event asked for."""


class _DeletedMeta(Struct, rename="camel"):
    name: str = ""
    resource_version: Any = ""
    finalizers: Any = None
    deletion_grace_period_seconds: Any = None


class _Deleted(Struct):
    metadata: _DeletedMeta = field(default_factory=_DeletedMeta)


class _Reviewed(Struct):
    status: Raw = ABSENT


def is_table(api_version: str, kind: str) -> bool:
    """Return True for a list printed for people. Other groups may have Tables too."""
    return kind == "Table" and api_version in _TABLE_VERSIONS


def is_status(said: TypeMeta) -> bool:
    """Return True for the API's answer about a request. Other groups may have Statuses too."""
    return said.kind == "Status" and said.api_version in _STATUS_VERSIONS


def is_of_kind(said: TypeMeta, asked: APIResource | None) -> bool:
    """Return True for an object of the kind that is asked for, or that says no kind."""
    if asked is None or not asked.kind:
        return not is_status(said)
    if not said.kind:
        return True
    return said.kind == asked.kind and said.api_version in ("", asked.api_version)


def named_kind(asked: APIResource | None) -> str:
    """The kind that is asked for, as messages name it."""
    if asked is None or not asked.kind:
        return "an object"
    return f"a {asked.kind} of {asked.api_version}"


def shown(raw: bytes) -> str:
    """The beginning of an answer, as the message of an error has it."""
    return f"{raw[:120]!r}" if raw else "an empty body"


def type_of(raw: bytes, what: str) -> TypeMeta:
    """What a JSON object says that it is; raises :class:`DecodeError` for anything else."""
    try:
        return outer_of(raw, TypeMeta)
    except REFUSALS as error:
        raise DecodeError(f"not {what}: {why(error, raw)}; got {shown(raw)}") from error


def read_status(raw: bytes) -> Status:
    """A Status, with nulls where it leaves something out; raises what :func:`decode` raises."""
    try:
        return decode(raw, Status)
    except msgspec.ValidationError:
        return convert_leniently(msgspec.json.decode(raw), Status)


def any_status_in(raw: bytes) -> Status | None:
    """The Status that some JSON is, of failure or success; None for anything else."""
    try:
        return read_status(raw) if is_status(decode(raw, TypeMeta)) else None
    except REFUSALS:
        return None


def is_success(status: Status | None) -> bool:
    """Return True for a Status of success."""
    return status is not None and status.status == _SUCCESS


def status_in(raw: bytes, what: str) -> Status | None:
    """The Status of failure that came in place of something; None for anything else.

    Raises :class:`DecodeError` for a Status of success, which is not what is asked for either.
    """
    status = any_status_in(raw)
    if is_success(status):
        raise DecodeError(f"not {what} but a Status of success; got {shown(raw)}")
    return status


def check_object(raw: bytes, asked: APIResource | None, what: str) -> TypeMeta:
    """Return what one object says that it is; raise if it is not of the kind that is asked for.

    Raises :class:`~clientgo.meta.StatusError` for a Status of failure, and :class:`DecodeError`.
    """
    said = type_of(raw, what)
    if not is_of_kind(said, asked):
        if status := status_in(raw, what):
            raise error_from_status(status)
        raise DecodeError(f"not {what} but {described(said)}; got {shown(raw)}")
    return said


def check_review(raw: bytes, what: str) -> None:
    """Raise for a review that the server did not decide: neither yes nor no may be read from it."""
    if outer_of(raw, _Reviewed).status == ABSENT:
        raise DecodeError(f"not {what}: it has no status; got {shown(raw)}")


def check_deletion(raw: bytes) -> str:
    """Return the version as of which an object is deleted, or marked; empty if that is not said.

    Raises unless this is the answer to a deletion: a Status of success, an object or a list. Of an
    object that is gone, only a Status has the version, since Kubernetes 1.37.
    """
    what = "the answer to a deletion"
    status = any_status_in(raw)
    if status is not None and is_success(status):
        return status.metadata.resource_version
    if status is not None:
        raise error_from_status(status)
    said = type_of(raw, what)
    try:
        metadata = outer_of(raw, _Deleted).metadata
    except REFUSALS:
        metadata = _DeletedMeta()
    if not (said.kind.endswith("List") or metadata.name):
        raise DecodeError(f"not {what} but {described(said)}; got {shown(raw)}")
    is_there = metadata.finalizers or metadata.deletion_grace_period_seconds
    return str(metadata.resource_version or "") if is_there else ""


def check_list(page: Page, raw: bytes, asked: APIResource | None, what: str) -> bool:
    """Raise unless a page is one of a list of the kind that is asked for.

    Returns False where the page does not show that, so that each item must be looked at: a page
    without a kind, ``v1 List``, and the custom name of a list that a definition may give.
    """
    if is_status(page) and (status := status_in(raw, what)):
        raise error_from_status(status)
    if is_table(page.api_version, page.kind):
        raise DecodeError(f"{what} is expected, not a Table; got {shown(raw)}")
    if page.kind and not page.kind.endswith("List"):
        raise DecodeError(f"not {what} but {described(page)}; got {shown(raw)}")
    if page.items is UNSET or (page.items is None and not page.kind):
        raise DecodeError(f"not {what}: it has no items; got {shown(raw)}")
    if asked is None or not asked.kind:
        return bool(page.kind)
    if not page.kind or (page.kind, page.api_version) == ("List", "v1"):
        return False
    if page.api_version not in ("", asked.api_version):
        raise DecodeError(f"not {what} but {described(page)}; got {shown(raw)}")
    if page.kind == f"{asked.kind}List":
        return True
    if not page.items and "." not in asked.group:
        # Only a definition names its list as it likes, and its group has a dot.
        raise DecodeError(f"not {what} but {described(page)}; got {shown(raw)}")
    return False


def repeated_token(token: str) -> DecodeError:
    """The error of a page whose continue token leads to a page that was sent before."""
    return DecodeError(
        f"the list would never end: the server sent the continue token {token[:60]!r} a second time"
    )


def described(said: TypeMeta) -> str:
    """A kind as messages show it."""
    return f"a {said.kind or 'nameless kind'} of {said.api_version or 'no version'}"
