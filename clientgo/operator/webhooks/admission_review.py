"""AdmissionReview: what the API server asks of a webhook, and the answer in its form.

Versions ``v1`` and ``v1beta1`` differ only in their name. The objects stay bytes until decoded.

Upstream: ``k8s.io/api/admission/v1``, controller-runtime ``webhook/admission``.
"""

from __future__ import annotations

import base64
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
from msgspec import Raw, Struct

from clientgo.meta import Status, to_plain
from clientgo.meta.json_values import JSONObject
from clientgo.meta.nesting import MAX_NESTING, is_deeper_than, too_deep
from clientgo.meta.patches import create_json_patch
from clientgo.util.copies import uncopyable


class Operation(enum.StrEnum):
    """The operations of ``admission.k8s.io``, with their JSON values."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


_NOTHING: Final = Raw(b"null")


class UserInfo(Struct, rename="camel", kw_only=True, frozen=True):
    """The user who sent the request under review."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = msgspec.field(default_factory=dict)


class ReviewedKind(Struct, rename="camel", kw_only=True, frozen=True):
    """The type of the object in the review: the one that the webhook is registered for."""

    group: str = ""
    version: str = ""
    kind: str = ""


class ReviewedResource(Struct, rename="camel", kw_only=True, frozen=True):
    """The path that the request went to."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Struct, rename="camel", kw_only=True, frozen=True):
    """One request under review.

    ``object`` is absent for DELETE, ``old_object`` for CREATE; :func:`plain_object` decodes them.
    ``operation`` is the text of an ``Operation``.
    """

    uid: str = ""
    kind: ReviewedKind = ReviewedKind()
    resource: ReviewedResource = ReviewedResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: Raw = _NOTHING
    old_object: Raw = _NOTHING
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


class AdmissionReview(Struct, rename="camel", kw_only=True, frozen=True):
    """The envelope."""

    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


def raw_object(raw: Raw) -> bytes | None:
    """Return the JSON of an object in a request, None if it is absent."""
    content = bytes(raw)
    return None if content in (b"", b"null") else content


def plain_object(raw: Raw) -> JSONObject | None:
    """Return an object in a request as plain JSON values, None if it is absent."""
    content = raw_object(raw)
    return None if content is None else msgspec.json.decode(content)


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The answer to a request. Made by the constructors below; immutable.

    ``patch`` is a JSON patch of the request's object, ``warnings`` are shown to the user.
    """

    allowed: bool
    status: Status = field(default_factory=lambda: Status(code=200))
    patch: Sequence[JSONObject] = ()
    warnings: Sequence[str] = ()

    @classmethod
    def allow(cls, *, warnings: Sequence[str] = ()) -> Self:
        """Allow the request without changes."""
        return cls(allowed=True, warnings=tuple(warnings))

    @classmethod
    def change(cls, request: AdmissionRequest, result: Any) -> Self:
        """Allow the request, and make its object ``result`` (an object or a dict)."""
        return cls(
            allowed=True,
            patch=create_json_patch(plain_object(request.object), to_plain(result)),
        )

    @classmethod
    def deny(cls, status: Status, *, warnings: Sequence[str] = ()) -> Self:
        """Refuse the request with this status."""
        return cls(allowed=False, status=status, warnings=tuple(warnings))


API_VERSION: Final = "admission.k8s.io/v1"
API_VERSIONS: Final = (API_VERSION, "admission.k8s.io/v1beta1")
KIND: Final = "AdmissionReview"


def encode_review(
    response: AdmissionResponse, *, uid: str = "", api_version: str = "", kind: str = ""
) -> bytes:
    """Return the answer to a review of this ``api_version`` and ``kind``.

    Raises what encoding raises, and ``ValueError`` for a patch that an API server could not read.
    """
    answer: dict[str, Any] = {
        "uid": uid,
        "allowed": response.allowed,
        "status": plain_status(response.status),
    }
    if response.patch:
        answer["patchType"] = "JSONPatch"
        patch = msgspec.json.encode(response.patch)
        if is_deeper_than(patch, MAX_NESTING):
            raise ValueError(f"the patch cannot be sent: {too_deep(patch)}")
        answer["patch"] = base64.b64encode(patch).decode()
    if response.warnings:
        answer["warnings"] = list(response.warnings)
    return msgspec.json.encode(
        {"apiVersion": api_version or API_VERSION, "kind": kind or KIND, "response": answer}
    )


def plain_status(status: Status) -> Mapping[str, Any]:
    """Return a status as JSON values, without empty parts."""
    plain: dict[str, Any] = msgspec.to_builtins(status)
    return {name: value for name, value in plain.items() if value != {}}


@uncopyable("it belongs to one run; pass on what you read from it")
class AdmissionContext:
    """The request under review, without its object. Valid during one call of a handler.

    On ``dry_run`` a handler must change nothing, because the write will not be stored. ``options``
    are those of the write (``CreateOptions`` ...) as plain JSON values.
    """

    __slots__ = ("_request", "operation", "warnings")

    def __init__(self, request: AdmissionRequest) -> None:
        self._request = request
        self.operation = Operation(request.operation)
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Show ``text`` to the user, even if the request is refused.

        If there are many warnings, the API server cuts each after 256 characters.
        """
        self.warnings.append(text)

    @property
    def dry_run(self) -> bool:
        return bool(self._request.dry_run)

    @property
    def user(self) -> UserInfo:
        return self._request.user_info

    @property
    def uid(self) -> str:
        """The identity of this review, also found in the API server's log."""
        return self._request.uid

    @property
    def subresource(self) -> str:
        """The part of the object that is written, such as ``status``; empty for the object."""
        return self._request.sub_resource

    @property
    def namespace(self) -> str:
        return self._request.namespace

    @property
    def name(self) -> str:
        """The object's name; empty while the API server generates it (``generateName``)."""
        return self._request.name

    @property
    def options(self) -> Mapping[str, Any]:
        return self._request.options or {}
