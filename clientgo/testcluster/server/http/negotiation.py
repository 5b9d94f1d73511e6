"""The representation of a response, chosen by the Accept header.

Promises the choices of a real API server: JSON or YAML; the object, a Table, or its metadata only.
An object is in protobuf if the client does not accept JSON: Go clients that ask for protobuf do.

Upstream: apiserver ``endpoints/handlers/negotiation`` and the goautoneg package.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import msgspec

from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.resources.errors import bad_request, not_acceptable

_JSON = "application/json"
_MEDIA_TYPES = (_JSON, "application/yaml", PROTOBUF_TYPE)
_ROUTED_TYPES = (*_MEDIA_TYPES, "*/*")
_STREAMED_TYPES = (_JSON, PROTOBUF_TYPE)
_STREAMS = tuple(f"{media_type};stream=watch" for media_type in _STREAMED_TYPES)
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
    media_type: str = _JSON
    included: Included = Included.METADATA
    """The part of its object that a Table's row has."""
    version: str = f"{_META_GROUP}/v1"
    """apiVersion of a Table or of metadata."""

    @property
    def is_stored_form(self) -> bool:
        """Return True if the response has the stored bytes."""
        return self.form is Form.OBJECT and self.media_type == _JSON

    @property
    def is_protobuf(self) -> bool:
        """Return True if the response is in protobuf."""
        return self.media_type == PROTOBUF_TYPE


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
def negotiate(
    accept: str, *, streaming: bool = False, builtin: bool = False, has_table: bool = True
) -> Representation:
    """Choose a representation of API objects for an Accept header.

    The router of built-in kinds (``builtin``) knows no ``application/*``. Without ``has_table``
    there is no Table of the answer.

    Raises:
        FailedRequestError: 406, the client accepts no representation.
    """
    if not accept:
        return Representation()
    ranges = parse_accept(accept)
    if builtin and not any(wanted.media_type in _ROUTED_TYPES for wanted in ranges):
        raise not_acceptable(_MEDIA_TYPES, by_router=True)
    chosen: Representation | None = None
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
        if form is Form.TABLE and (media_type == PROTOBUF_TYPE or not has_table):
            continue
        version = f"{_META_GROUP}/{wanted.parameter('v') or 'v1'}"
        found = Representation(form, media_type, version=version)
        is_encoded_anyway = form in (Form.METADATA, Form.METADATA_LIST)
        if media_type == _JSON or (chosen is None and (is_encoded_anyway or not found.is_protobuf)):
            return found
        chosen = chosen or found
    if chosen is None:
        raise not_acceptable(_STREAMS if streaming else _MEDIA_TYPES)
    return chosen


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
    accepted = [
        media_type
        for wanted in parse_accept(accept or _JSON)
        if _form(wanted) is Form.OBJECT and (media_type := accepted_type(wanted))
    ]
    if not accepted:
        raise not_acceptable(_MEDIA_TYPES)
    return _JSON if accepted[0] == PROTOBUF_TYPE and _JSON in accepted else accepted[0]


_FORMS = {form.value: form for form in (Form.TABLE, Form.METADATA, Form.METADATA_LIST)}
