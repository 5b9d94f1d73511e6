"""Models of the ``kubernetes`` package: to plain JSON values, and from them.

Promises: every generation of that package, whatever its models are made of, is written without
importing it; the map of wire names on the class is enough. A model that was read remembers the JSON
that it came from, so fields that it does not know are still there when it is written.

Does not promise this for a model that is built anew from the parts of another one.
"""

from __future__ import annotations

import functools
import importlib
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol, TypeVar

import msgspec

from clientgo.meta.decoding import convert
from clientgo.meta.objects.overlay import overlay
from clientgo.meta.timestamps import format_micro_time, format_time


class KubernetesModel(Protocol):
    """A model of the ``kubernetes`` package, such as its ``V1Pod``."""

    attribute_map: ClassVar[dict[str, str]]


M = TypeVar("M", bound=KubernetesModel)

_ORIGIN: Final = "_clientgo_origin"
"""The attribute that holds the JSON of a model that was read. Copies and pickles keep it."""

_PLAIN: Final = frozenset({"str", "int", "float", "bool", "object", "date"})
"""The types of attributes that are JSON values; no model has a date."""


def is_foreign_model(obj: Any) -> bool:
    """Return True if ``obj`` is a model of the ``kubernetes`` package, or looks like one."""
    return is_model_class(type(obj))


def is_model_class(cls: Any) -> bool:
    """Return True for a class of models of the ``kubernetes`` package."""
    return isinstance(cls, type) and hasattr(cls, "attribute_map")


def plain_of_model(obj: Any) -> Any:
    """The JSON values of a model, without what is not set; plain values pass through.

    Of a model that was read these are the values that were read, with the changes laid over them.
    Raises ``ValueError`` for a time without a time zone.
    """
    plain = _known_fields(obj)
    origin = getattr(obj, "__dict__", {}).get(_ORIGIN)
    if origin is None:
        return plain
    read = msgspec.json.decode(origin)
    return overlay(read, _known_fields(_deserialized(type(obj), read)), plain)


def model_of(cls: type[M], plain: dict[str, Any]) -> M:
    """Make a model from JSON values; imports the package of its class, which is imported already.

    What it raises depends on the version of that package.
    """
    model: M = _deserialized(cls, plain)
    # Past the checks that a model makes of its attributes.
    vars(model)[_ORIGIN] = msgspec.json.encode(plain)
    return model


def _known_fields(obj: Any) -> Any:
    if is_foreign_model(obj):
        return {
            wire_name: _known_fields(value)
            for attribute, wire_name in type(obj).attribute_map.items()
            if (value := getattr(obj, attribute)) is not None
        }
    if isinstance(obj, dict):
        return {key: _known_fields(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_known_fields(value) for value in obj]
    if isinstance(obj, datetime):
        return _timestamp(obj)
    return obj


def _timestamp(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError(
            f"{time!r} has no time zone, so it is no time for a server; "
            "make it with datetime.now(timezone.utc)"
        )
    seconds = time.timestamp()
    return format_micro_time(seconds) if time.microsecond else format_time(seconds)


def _deserialized(cls: Any, plain: dict[str, Any]) -> Any:
    """A model of JSON values: pydantic's, or those of version 36 and before."""
    if hasattr(cls, "from_dict"):
        return cls.from_dict(plain)
    package, configuration = _package_of(cls.__module__.partition(".models")[0])
    return _made(cls.__name__, plain, package, configuration)


@functools.cache
def _package_of(name: str) -> tuple[Any, Any]:
    """The package that has the models, and a configuration that lets a field be absent.

    By default its models refuse objects that servers do have, such as a node's image without names.
    """
    package: Any = importlib.import_module(name)
    configuration = package.Configuration()
    configuration.client_side_validation = False
    return package, configuration


def _made(type_: str, value: Any, package: Any, configuration: Any) -> Any:
    """What an attribute of this type is for a JSON value, as the package's deserializer makes it.

    That one makes a configuration for each part of an object, which takes ten times as long.
    """
    if value is None or type_ in _PLAIN:
        return value
    if type_ == "datetime":
        return convert(value, datetime)
    if type_.startswith("list["):
        return [_made(type_[5:-1], item, package, configuration) for item in value]
    if type_.startswith("dict("):
        item_type = type_[5:-1].partition(", ")[2]
        return {key: _made(item_type, item, package, configuration) for key, item in value.items()}
    cls = getattr(package, type_)
    if not isinstance(value, dict):
        raise TypeError(f"{type_} is made of a mapping, not of {type(value).__name__}")
    parts = {
        attribute: _made(cls.openapi_types[attribute], value[wire_name], package, configuration)
        for attribute, wire_name in cls.attribute_map.items()
        if wire_name in value
    }
    return cls(local_vars_configuration=configuration, **parts)
