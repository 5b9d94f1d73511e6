"""The representation of a response, chosen by the Accept header.

Promises the choices of a real API server: JSON or YAML; the object, a Table, or its metadata only.
No response is in protobuf: clients that ask for it accept JSON as well.

Upstream: apiserver ``endpoints/handlers/negotiation`` and the goautoneg package.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from clientgo.apiserver.resources.errors import bad_request, not_acceptable

_MEDIA_TYPES = ("application/json", "application/yaml")
_META_GROUP = "meta.k8s.io"


class Form(Enum):
    """The part of an object that a response has."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


class Included(Enum):
    """The part of its object that a Table's row has."""

    METADATA = "Metadata"
    OBJECT = "Object"
    NONE = "None"


def parse_included(text: str) -> Included:
    """Read the ``includeObject`` parameter.

    Raises:
        RequestError: 400, it has none of the known values.
    """
    try:
        return Included(text) if text else Included.METADATA
    except ValueError:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{text}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        ) from None


@dataclass(frozen=True, slots=True)
class Representation:
    """A form and a media type."""

    form: Form = Form.OBJECT
    media_type: str = "application/json"
    included: Included = Included.METADATA
    """The part of its object that a Table's row has."""

    @property
    def is_stored_form(self) -> bool:
        """Return True if the response has the stored bytes."""
        return self.form is Form.OBJECT and self.media_type == "application/json"


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One part of an Accept header."""

    media_type: str
    parameters: tuple[tuple[str, str], ...]
    quality: float

    def parameter(self, name: str) -> str:
        """Return a parameter such as ``as`` or ``v``; empty if it is missing."""
        return dict(self.parameters).get(name, "")


@lru_cache(maxsize=256)
def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """Return the ranges of an Accept header by quality, then by number of parameters."""
    ranges = [_parse_range(part) for part in header.split(",") if part.strip()]
    return tuple(sorted(ranges, key=lambda item: (-item.quality, -len(item.parameters))))


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
    return MediaRange(media_type.lower(), tuple(parameters), quality)


@lru_cache(maxsize=256)
def negotiate(accept: str, *, streaming: bool = False) -> Representation:
    """Choose a representation of API objects for an Accept header.

    Raises:
        RequestError: 406, the client accepts no representation.
    """
    if not accept:
        return Representation()
    for wanted in parse_accept(accept):
        media_type = _MEDIA_TYPES[0] if wanted.media_type == "*/*" else wanted.media_type
        if media_type not in _MEDIA_TYPES or wanted.quality <= 0:
            continue
        if not (form_name := wanted.parameter("as")):
            return Representation(Form.OBJECT, media_type)
        form = _META_FORMS.get(form_name.removesuffix("List"))
        if form and wanted.parameter("g") == _META_GROUP and wanted.parameter("v") == "v1":
            return Representation(form, media_type)
    extra = ("application/json;stream=watch",) if streaming else ()
    raise not_acceptable((*_MEDIA_TYPES, *extra))


_META_FORMS = {form.value: form for form in (Form.TABLE, Form.METADATA)}
