"""Reading the header of any object: ours, the `kubernetes` package's, or a plain dict.

`metadata_of(obj)` has the attributes of :class:`~clientgo.meta.ObjectMeta`. How to read an object
is decided once for each Python type. Labels, annotations and references of a foreign model may be
`None`: read them with :func:`labels_of` and :func:`annotations_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from clientgo.meta.decoding import convert, decode
from clientgo.meta.objects.object_meta import ObjectMeta
from clientgo.util.copies import CopyableError


class NoMetadataError(CopyableError, TypeError):
    """A value was used as an API object but carries no object metadata."""

    def __init__(self, obj: object) -> None:
        super().__init__(
            f"a {type(obj).__name__} has no object metadata: {obj!r:.80}; "
            "pass an object with .metadata, or a dict with a 'metadata' mapping"
        )
        self.obj = obj


_NO_LABELS: Mapping[str, str] = {}
_readers: dict[type, Callable[[Any], Any]] = {}
"""Without a lock: two threads may both make the reader of a type, and either one serves."""


def metadata_of(obj: Any) -> Any:
    """The object's header; raises :class:`NoMetadataError` for a value that has none."""
    try:
        reader = _readers[type(obj)]
    except KeyError:
        reader = _readers[type(obj)] = _reader_for(type(obj))
    return reader(obj)


def has_metadata(obj: Any) -> bool:
    """Return True if :func:`metadata_of` would succeed."""
    try:
        metadata_of(obj)
    except NoMetadataError:
        return False
    return True


def labels_of(obj: Any) -> Mapping[str, str]:
    """The object's labels, empty when it has none."""
    labels: Mapping[str, str] | None = metadata_of(obj).labels
    return labels if labels is not None else _NO_LABELS


def annotations_of(obj: Any) -> Mapping[str, str]:
    """The object's annotations, empty when it has none."""
    annotations: Mapping[str, str] | None = metadata_of(obj).annotations
    return annotations if annotations is not None else _NO_LABELS


def _reader_for(cls: type) -> Callable[[Any], Any]:
    if "metadata" in getattr(cls, "__struct_fields__", ()):
        return attrgetter("metadata")
    if issubclass(cls, Mapping) and not hasattr(cls, "metadata"):
        return _read_mapping
    return _read_attribute


def _read_attribute(obj: Any) -> Any:
    try:
        metadata = obj.metadata
    except AttributeError:
        raise NoMetadataError(obj) from None
    # Lists carry metadata too, but of lists: no name, so no object of a store.
    if metadata is None or not hasattr(metadata, "name"):
        raise NoMetadataError(obj)
    return metadata


def _read_mapping(obj: Mapping[str, Any]) -> ObjectMeta:
    try:
        metadata = obj["metadata"]
        if isinstance(metadata, dict) and "managedFields" in metadata:
            return decode(msgspec.json.encode(metadata), ObjectMeta)
        return convert(metadata, ObjectMeta)
    except (KeyError, msgspec.ValidationError, RecursionError) as error:
        raise NoMetadataError(obj) from error
