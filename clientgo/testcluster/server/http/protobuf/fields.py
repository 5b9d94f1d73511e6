"""The messages of the API: which field has which number, name and type.

``hack/pack_protobuf_fields.py`` makes the table from the Go types, whose tags have the numbers of
upstream's ``generated.proto`` files.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from clientgo.testcluster.server.http.protobuf.wire import ProtobufError

LIST, MAP = "[]", "{}"
"""Begin the types of fields with several values; the rest is the type of each."""

SCHEMA = "apiextensions/v1.JSONSchemaProps"
"""The message of a schema, which some values are instead of a flag or a list."""


class UnknownKindError(ValueError):
    """The kind has no protobuf form."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no kind "{kind}" is registered for version "{api_version}"')
        self.api_version = api_version
        self.kind = kind


class Field(NamedTuple):
    """A field of a message."""

    name: str
    """In JSON; empty if the members of the message are inlined."""
    type: str
    """The name of a message, or of a type with a reader and a writer of its own."""
    tells_zero: bool
    """A zero differs from a missing field."""


def message_of_kind(api_version: str, kind: str) -> str:
    """Return the message of a kind.

    Raises:
        UnknownKindError: it has none: it is not built in, or has no form in protobuf.
    """
    kinds = _table().kinds
    # Every group version has the options, and the types of the API itself.
    message = kinds.get(f"{api_version}/{kind}") or kinds.get(f"/{kind}")
    if message is None:
        raise UnknownKindError(api_version, kind)
    return message


def fields_of(message: str) -> dict[int, Field]:
    """Return the fields of a message by number, in the order of numbers."""
    return _table().message(message)


class _Table:
    """The messages by name; each is prepared once."""

    def __init__(self, kinds: Mapping[str, str], messages: Mapping[str, Any]) -> None:
        self.kinds = kinds
        self._messages = messages
        self._read: dict[str, dict[int, Field]] = {}

    def message(self, name: str) -> dict[int, Field]:
        found = self._read.get(name)
        if found is None:
            packed = self._messages.get(name)
            if packed is None:
                raise ProtobufError(f"{name} is no message")
            found = {
                int(number): Field(json_name, type_, bool(tells_zero))
                for number, (json_name, type_, tells_zero) in packed.items()
            }
            found = self._read[name] = dict(sorted(found.items()))
        return found


@functools.cache
def _table() -> _Table:
    file = files("clientgo.testcluster.server.http").joinpath("data", "protobuf_fields.json.gz")
    packed = msgspec.json.decode(gzip.decompress(file.read_bytes()))
    return _Table(packed["kinds"], packed["messages"])
