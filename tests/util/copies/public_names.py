"""The public names of the packages, and an object of each class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, is_typeddict

from msgspec import Struct, StructMeta

import clientgo
from clientgo.meta import ObjectMeta, Resource


def public_names() -> dict[str, Any]:
    """What the packages export, by ``package.name`` of the first that does."""
    found: dict[int, tuple[str, Any]] = {}
    for module in pkgutil.walk_packages(clientgo.__path__, "clientgo."):
        if module.name.endswith("__main__"):
            continue
        for name, value in _exported(module.name):
            found.setdefault(id(value), (f"{module.name}.{name}", value))
    return dict(found.values())


def _exported(module: str) -> Iterator[tuple[str, Any]]:
    imported = importlib.import_module(module)
    if module.startswith("clientgo.api."):
        for name, value in vars(imported).items():
            if isinstance(value, StructMeta) and value.__module__ == module:
                yield name, value
    for name in getattr(imported, "__all__", ()):
        yield name, getattr(imported, name)


def public_classes() -> dict[str, Any]:
    """The classes that have objects."""
    return {
        name: value
        for name, value in public_names().items()
        if isinstance(value, type)
        and not inspect.isabstract(value)
        and not is_typeddict(value)
        and not getattr(value, "_is_protocol", False)
    }


def refuses(cls: type) -> bool:
    return getattr(cls.__reduce_ex__, "__module__", "") == "clientgo.util.copies"


def is_record(cls: type) -> bool:
    """Its fields say all: a Struct, a dataclass or a named tuple."""
    return issubclass(cls, Struct) or is_dataclass(cls) or hasattr(cls, "_fields")


def record_of(cls: Any) -> Any:
    """A record with its defaults, and texts for the fields that have none."""
    if isinstance(cls, type) and issubclass(cls, Resource) and cls is not Resource:
        metadata = ObjectMeta(name="a", labels={"app": "a"}, finalizers=("f",))
        make: Any = StructMeta.__call__
        return make(cls, metadata=metadata, _body=record_of(cls.__body__))
    parameters = inspect.signature(cls).parameters.values()
    return cls(**{each.name: f"some {each.name}" for each in parameters if _is_required(each)})


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def contents(value: Any) -> Any:
    """What an object holds, to be compared where it has no equality of its own."""
    if type(value) is dict:
        return {key: contents(inner) for key, inner in value.items()}
    if type(value).__eq__ is not object.__eq__ or callable(value):
        return value
    slots = [
        name
        for cls in type(value).__mro__
        for name in getattr(cls, "__slots__", ())
        if name != "__weakref__"
    ]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    held |= getattr(value, "__dict__", {})
    return type(value), {name: contents(inner) for name, inner in held.items()}
