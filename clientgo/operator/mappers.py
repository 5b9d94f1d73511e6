"""Mappers: which primaries an event of another object concerns.

Any function of a :class:`MapContext` and an object that returns keys is a mapper. On an update the
old and the new state are both mapped. A key need not name an object that exists.

Source: controller-runtime pkg/handler; Java Operator SDK Mappers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from clientgo.meta import (
    APIResource,
    GroupVersion,
    ObjectName,
    metadata_of,
    resource_of,
    to_plain,
)

Key: TypeAlias = ObjectName
"""Namespace and name of a primary."""

Mapped: TypeAlias = Iterable[Key | tuple[Key, int]]
"""Keys, each alone or with a priority."""


@dataclass(frozen=True, slots=True)
class MapContext:
    """What a mapper knows: the kind that it maps to, and the caches to look up referrers in."""

    primary: APIResource
    client: Any
    """A ``CachedClient``."""


Mapper: TypeAlias = Callable[[MapContext, Any], Mapped]
Locator: TypeAlias = Callable[[Any], Iterable[Key]]
"""The other way round: from a primary to the names of its secondaries."""


def by_owner(*, controller_only: bool = True) -> Mapper:
    """The owners of the primary's kind: the controller, or with False every owner.

    Group and kind have to match; another version of the group is the same kind.
    """

    def owners(context: MapContext, obj: Any) -> Iterable[Key]:
        primary, metadata = context.primary, metadata_of(obj)
        for reference in metadata.owner_references or ():
            if controller_only and not reference.controller:
                continue
            if reference.kind != primary.kind:
                continue
            if GroupVersion.parse(reference.api_version).group == primary.group:
                yield _beside(obj, reference.name, primary)

    return owners


def owner_index(owner: type[Any] | APIResource) -> tuple[str, Callable[[Any], list[str]]]:
    """Name and function of an index of objects by the name of the primary that controls them.

    ``manager.index(Job, *owner_index(CronJob))`` makes
    ``client.list(Job, namespace=..., fields={".metadata.controller": "nightly"})`` quick.
    """
    resource = owner if isinstance(owner, APIResource) else resource_of(owner)
    context, mapper = MapContext(resource, None), by_owner()
    return ".metadata.controller", lambda obj: [
        key.name for key in mapped_keys(mapper, context, (obj,))
    ]


def by_name() -> Mapper:
    """The primary of the same name and namespace."""

    def same_name(context: MapContext, obj: Any) -> Iterable[Key]:
        return (_beside(obj, metadata_of(obj).name, context.primary),)

    return same_name


def by_label(name: str | None = None, namespace: str | None = None) -> Mapper:
    """The primary that labels of the object name; see :func:`by_annotation`."""
    return _by_mapping(lambda obj: metadata_of(obj).labels or {}, name, namespace)


def by_annotation(name: str | None = None, namespace: str | None = None) -> Mapper:
    """The primary that annotations of the object name.

    The default keys are ``<group>/<kind in lower case>-name`` and ``-namespace`` of the primary,
    the default namespace is that of the object.
    """
    return _by_mapping(lambda obj: metadata_of(obj).annotations or {}, name, namespace)


def by_field(*path: str) -> Mapper:
    """The primary that a field of the object names, in the object's namespace."""

    def named(context: MapContext, obj: Any) -> Iterable[Key]:
        found = field_at(obj, path)
        return (_beside(obj, found, context.primary),) if found and isinstance(found, str) else ()

    return named


def default_key(primary: APIResource, what: str) -> str:
    """The label or annotation under which an object names its primary by default."""
    group = primary.group or "core.clientgo"
    return f"{group}/{primary.kind.lower()}-{what}"


def _by_mapping(
    values_of: Callable[[Any], Mapping[str, str]], name_key: str | None, namespace_key: str | None
) -> Mapper:
    def named(context: MapContext, obj: Any) -> Iterable[Key]:
        values, primary = values_of(obj), context.primary
        name = values.get(name_key or default_key(primary, "name"))
        if not name:
            return ()
        namespace = values.get(namespace_key or default_key(primary, "namespace"))
        if namespace is None or not primary.namespaced:
            return (_beside(obj, name, primary),)
        return (ObjectName(namespace, name),)

    return named


def field_at(obj: Any, path: Iterable[str]) -> Any:
    """Return the field at a path, None if there is none."""
    found: Any = to_plain(obj)
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _beside(obj: Any, name: str, primary: APIResource) -> Key:
    """Return the key of a primary in the namespace of an object."""
    return ObjectName((metadata_of(obj).namespace or "") if primary.namespaced else "", name)


def mapped_keys(mapper: Mapper, context: MapContext, states: Iterable[Any]) -> dict[Key, int]:
    """Return the keys for one event, each once with its highest priority.

    Raises what the mapper raises, and ``TypeError`` for something that is no key.
    """
    keys: dict[Key, int] = {}
    for state in states:
        for mapped in mapper(context, state):
            key, priority = _with_priority(mapped)
            keys[key] = max(priority, keys.get(key, priority))
    return keys


def _with_priority(mapped: Any) -> tuple[Key, int]:
    if isinstance(mapped, ObjectName):
        return mapped, 0
    if isinstance(mapped, tuple) and len(mapped) == 2:
        first, second = mapped
        if isinstance(first, ObjectName) and isinstance(second, int):
            return first, second
        if isinstance(first, str) and isinstance(second, str):
            return ObjectName(first, second), 0
    raise TypeError(
        f"a mapper returns keys, as ObjectName(namespace, name), or pairs of a key and a "
        f"priority, not {mapped!r}"
    )
