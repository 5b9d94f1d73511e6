"""From an error response to a typed error.

Every response outside 200-206 becomes a :class:`~clientgo.meta.StatusError` of the right class,
whose text says in one line what the server said, to which request, and what to do. Source:
client-go `rest` Request.transformResponse.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from clientgo.meta import DecodeError, Status, StatusError, error_from_status
from clientgo.meta.wire.answers import read_status
from clientgo.rest.errors import without_query

_LONGEST_TEXT: Final = 2048
_FAILURES: Final[Mapping[int, str]] = {
    400: "the server rejected the request as malformed",
    401: "the server does not know who is asking",
    403: "the server does not allow it",
    404: "the server does not have what was asked for",
    405: "the server does not offer this method here",
    406: "the server cannot answer in an accepted format",
    409: "the object exists already or has changed",
    410: "the version asked for is no longer kept",
    413: "the request is too large",
    415: "the server does not take this format",
    422: "the object does not fit its schema",
    429: "the server has too many requests to serve",
    500: "the server failed in itself",
    503: "the server is not ready to serve",
    504: "the server could not answer in time",
}
_ADVICE: Final[Mapping[int, str]] = {
    401: "log in again, or check the credentials in the kubeconfig",
    429: "ask less often",
    503: "try again when the server is up",
}
_NOT_ALLOWED: Final = "grant the verb to this user, as with a Role and a RoleBinding"
_NO_SUCH_PATH: Final = "check the group, version and resource; a custom resource needs its CRD"
_NOT_OF_THE_API: Final = "is this the API server, or a proxy or gateway that answers for it?"
_DECLARED: Final = ("status", "scale")
"""Subresources that a definition has to declare; a server answers as if the object were gone."""


def is_success(code: int) -> bool:
    """200 to 206, and 101 for a connection that was taken over."""
    return 200 <= code <= 206 or code == HTTPStatus.SWITCHING_PROTOCOLS


def retry_after(headers: Mapping[str, str]) -> int | None:
    """The ``Retry-After`` header in whole seconds; a date or anything else does not count."""
    text = headers.get("Retry-After", "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def answer_error(
    method: str, url: str, code: int, headers: Mapping[str, str], body: bytes
) -> StatusError:
    """The error for an answer: what its Status says, or else what can be told from the code."""
    status = _status_in(body) or _generic_status(method, code, headers, body)
    status.code = status.code or code
    seconds = retry_after(headers)
    if seconds and not status.details.retry_after_seconds:
        status.details.retry_after_seconds = seconds
    error = error_from_status(status)
    mention_request(error, method, url)
    return error


def mention_request(error: StatusError | DecodeError, method: str, url: str) -> None:
    """Add to an error of an answer which request it answers, and what to do."""
    path = without_query(url)
    advice = _advice(error.status, path) if isinstance(error, StatusError) else _NOT_OF_THE_API
    error.args = (f"{error} ({method} {path}{'; ' if advice else ''}{advice})",)


def _status_in(body: bytes) -> Status | None:
    try:
        status = read_status(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return status if status.kind == "Status" and status.status != "Success" else None


def _generic_status(method: str, code: int, headers: Mapping[str, str], body: bytes) -> Status:
    message = _FAILURES.get(code) or f"the server answered with HTTP {code}"
    media_type = headers.get("Content-Type", "")
    if body and (not media_type or media_type.startswith("text/")):
        said = body[:_LONGEST_TEXT].decode(errors="replace").strip()
        message = f"{message}: {said}"
    return Status(
        kind="Status",
        api_version="v1",
        status="Failure",
        code=code,
        reason=_reason(method, code),
        message=message,
    )


def _reason(method: str, code: int) -> str:
    if method == "POST" and code == HTTPStatus.CONFLICT:
        return "AlreadyExists"
    return type(error_from_status(Status(code=code))).default_reason


def _advice(status: Status, path: str) -> str:
    if status.code == HTTPStatus.FORBIDDEN:
        # A quota, a policy, or a namespace that is being deleted forbids what the user may do.
        said = status.message
        is_of_rbac = 'User "' in said and " cannot " in said
        return _NOT_ALLOWED if is_of_rbac or said.startswith(_FAILURES[403]) else ""
    if status.code != HTTPStatus.NOT_FOUND:
        return _ADVICE.get(status.code, "")
    name = status.details.name
    if not name:
        return _NO_SUCH_PATH
    for subresource in _DECLARED:
        if path.endswith(f"/{name}/{subresource}"):
            return f"if it is there, its CRD does not declare the subresource {subresource}"
    return ""
