"""The representation of a response, chosen by the Accept header.

Promises the choices of a real API server: JSON or YAML; the object, a Table, or its metadata only.
No response is in protobuf: clients that ask for it accept JSON as well.

Upstream: apiserver ``endpoints/handlers/negotiation`` and the goautoneg package.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import msgspec

from clientgo.testcluster.server.resources.errors import bad_request, not_acceptable

_MEDIA_TYPES = ("application/json", "application/yaml")
_ROUTED_TYPES = (*_MEDIA_TYPES, "application/vnd.kubernetes.protobuf", "*/*")
_STREAMED_TYPES = ("application/json",)
_STREAMS = ("application/json;stream=watch",)
_META_GROUP = "meta.k8s.io"


class Form(Enum):
    """The part of an object that a response has."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"
    """As METADATA, which is for one object; each is refused for the other."""


class Included(Enum):
    """The part of its object that a Table's row has."""

    METADATA = "Metadata"
    OBJECT = "Object"
    NONE = "None"


def parse_included(text: str) -> Included:
    """Read the ``includeObject`` parameter.

    Raises:
        FailedRequestError: 400, it has none of the known values.
    """
    try:
        return Included(text) if text else Included.METADATA
    except ValueError:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{text}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        ) from None


class Representation(msgspec.Struct, frozen=True):
    """A form and a media type."""

    form: Form = Form.OBJECT
    media_type: str = "application/json"
    included: Included = Included.METADATA
    """The part of its object that a Table's row has."""
    version: str = f"{_META_GROUP}/v1"
    """apiVersion of a Table or of metadata."""

    @property
    def is_stored_form(self) -> bool:
        """Return True if the response has the stored bytes."""
        return self.form is Form.OBJECT and self.media_type == "application/json"


class MediaRange(msgspec.Struct, frozen=True):
    """One part of an Accept header."""

    media_type: str
    parameters: tuple[tuple[str, str], ...]
    quality: float

    def parameter(self, name: str) -> str:
        """Return a parameter such as ``as`` or ``v``; empty if it is missing."""
        return dict(self.parameters).get(name, "")


@lru_cache(maxsize=256)
def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """Return the ranges of an Accept header: by quality, wildcards last, then as they are sent."""
    ranges = [_parse_range(part) for part in header.split(",") if part.strip()]
    return tuple(sorted(ranges, key=lambda item: (-item.quality, "*" in item.media_type)))


def _parse_range(text: str) -> MediaRange:
    media_type, *rest = (part.strip() for part in text.split(";"))
    parameters = []
    quality = 1.0
    for parameter in rest:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 0.0
        else:
            parameters.append((name, value))
    return MediaRange(media_type, tuple(parameters), quality)


def accepted_type(wanted: MediaRange) -> str:
    """Return the media type that a range of an Accept header chooses; empty if there is none."""
    if wanted.media_type in ("*/*", "application/*"):
        return _MEDIA_TYPES[0]
    return wanted.media_type if wanted.media_type in _MEDIA_TYPES else ""


@lru_cache(maxsize=256)
def negotiate(accept: str, *, streaming: bool = False, builtin: bool = False) -> Representation:
    """Choose a representation of API objects for an Accept header.

    The router of built-in kinds (``builtin``) knows no ``application/*``.

    Raises:
        FailedRequestError: 406, the client accepts no representation.
    """
    if not accept:
        return Representation()
    ranges = parse_accept(accept)
    if builtin and not any(wanted.media_type in _ROUTED_TYPES for wanted in ranges):
        raise not_acceptable(_MEDIA_TYPES)
    for wanted in ranges:
        media_type = accepted_type(wanted)
        form = _form(wanted)
        if not media_type or form is None or wanted.parameter("sv") not in ("", "v1"):
            continue
        stream = wanted.parameter("stream")
        if stream and (stream != "watch" or media_type not in _STREAMED_TYPES):
            continue
        if streaming and media_type not in _STREAMED_TYPES:
            break
        if form is Form.OBJECT:
            return Representation(form, media_type)
        version = f"{_META_GROUP}/{wanted.parameter('v')}"
        return Representation(form, media_type, version=version)
    raise not_acceptable(_STREAMS if streaming else _MEDIA_TYPES)


def _form(wanted: MediaRange) -> Form | None:
    """Return the form that a range asks for; None if there is no such form."""
    given = {name: value for name, value in wanted.parameters if name in ("as", "g", "v")}
    if not given:
        return Form.OBJECT
    if given.get("g") != _META_GROUP or given.get("v") not in ("v1", "v1beta1"):
        return None
    return _FORMS.get(given.get("as", ""))


def plain_type(accept: str) -> str:
    """Choose the media type of a document that has one form only.

    Raises:
        FailedRequestError: 406, the client accepts no media type without another form.
    """
    for wanted in parse_accept(accept or _MEDIA_TYPES[0]):
        if _form(wanted) is Form.OBJECT and (media_type := accepted_type(wanted)):
            return media_type
    raise not_acceptable(_MEDIA_TYPES)


_FORMS = {form.value: form for form in (Form.TABLE, Form.METADATA, Form.METADATA_LIST)}
