"""Read objects as models of the `kubernetes` package; find the resource of a model.

Promises that the package is not imported: a class that is passed says by its name what it is. The
resource comes from :mod:`clientgo.api`, or else from what the server serves.

A model is made from an object at every read, so it may be changed.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import clientgo.api
from clientgo.client.cached_discovery import CachedDiscovery
from clientgo.client.discovery_documents import Discovered
from clientgo.client.rest_mapper import DiscoveringRESTMapper, NoMatchError
from clientgo.meta import (
    APIResource,
    Codec,
    DecodeError,
    EventType,
    GroupVersion,
    GroupVersionKind,
    ObjectDecodeError,
    ObjectList,
    Undecodable,
    Unstructured,
    WatchEvent,
    encode,
    resource_of,
    to_model,
)
from clientgo.rest import RequestError

_NAME: Final = re.compile(r"([A-Z][a-z]+)??(V\d+(?:(?:alpha|beta)\d+)?)([A-Z]\w*)")
"""``V1Deployment``, ``V1beta1IPAddress``; ``EventsV1Event`` where two groups have the kind."""


class _ModelName(NamedTuple):
    """What the name of a class says; ``group`` is empty if it does not matter."""

    group: str
    version: str
    kind: str

    def fits(self, resource: APIResource) -> bool:
        group = resource.group.partition(".")[0] or "core"
        return (resource.version, resource.kind) == (self.version, self.kind) and (
            self.group in ("", group)
        )


def resource_of_model(model: type, discovery: CachedDiscovery) -> APIResource:
    """Where the objects of a model are served.

    Asks the server only for kinds that :mod:`clientgo.api` does not have. Raises ``TypeError`` for
    a model that is no object, :class:`~clientgo.client.NoMatchError` for a kind that is not served.
    """
    wanted = _name_of(model)
    known = built_in_resource(wanted.version, wanted.fits)
    if known is not None:
        return known

    def fitting(found: Discovered) -> Iterator[APIResource]:
        return (item for item in found if not item.is_subresource and wanted.fits(item))

    def is_there(found: Discovered) -> bool:
        return any(True for _ in fitting(found))

    for resource in fitting(discovery.search(is_there)):
        return resource
    raise NoMatchError(
        f"the server has no kind {wanted.kind} in version {wanted.version}, which "
        f"{model.__name__} is for; use the class of a version that it serves"
    )


def resource_of_object(obj: Any, mapper: DiscoveringRESTMapper) -> APIResource:
    """Where an object is served that says its kind, as a dict or an ``Unstructured``.

    Asks the server only for kinds that :mod:`clientgo.api` does not have. Raises
    :class:`~clientgo.rest.RequestError` for an object that does not say its kind or is a list,
    :class:`~clientgo.client.NoMatchError` for a kind that is not served.
    """
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not api_version or not kind:
        raise RequestError(
            f"the object does not say what it is (apiVersion {api_version!r}, kind {kind!r}); "
            "set both, or use client.resource(...)"
        )
    if "items" in obj and str(kind).endswith("List"):
        raise RequestError(f"a {kind} is no object; write its items one by one")
    try:
        group, version = GroupVersion.parse(api_version)
    except (ValueError, AttributeError) as error:
        raise RequestError(f"apiVersion {api_version!r} of a {kind} is none: {error}") from error
    wanted = GroupVersionKind(group, version, kind)
    known = built_in_resource(version, lambda resource: resource.gvk == wanted)
    return known or mapper.for_kind(group, kind, version)


def built_in_resource(version: str, fits: Callable[[APIResource], bool]) -> APIResource | None:
    """The first resource of :mod:`clientgo.api` in a version that fits."""
    for module in pkgutil.iter_modules(clientgo.api.__path__, "clientgo.api."):
        if module.name.endswith(f"_{version}"):
            for type_ in getattr(importlib.import_module(module.name), "RESOURCES", ()):
                declared = resource_of(type_)
                if fits(declared):
                    return declared
    return None


class ModelCodec(Codec[Any]):
    """Decodes objects into models of one class; immutable, safe for every thread.

    What a subresource answers may be of another kind; then it is an ``Unstructured``.
    """

    __slots__ = ("_objects",)

    def __init__(self, model: type, asked: APIResource | None = None) -> None:
        self._objects = Codec(Unstructured, asked)
        self.type = model

    def decode(self, raw: bytes) -> Any:
        return self._to_model(self._objects.decode(raw))

    def decode_answer(self, raw: bytes, *, named: bool = True, any_kind: bool = False) -> Any:
        return self._to_model(self._objects.decode_answer(raw, named=named, any_kind=any_kind))

    def decode_created_part(self, raw: bytes) -> Any:
        return self._to_model(self._objects.decode_created_part(raw))

    def decode_list(self, raw: bytes) -> ObjectList[Any]:
        page = self._objects.decode_list(raw)
        result: ObjectList[Any] = ObjectList(
            metadata=page.metadata, items=[], undecodable=page.undecodable
        )
        for obj in page.items:
            model = self._model_or_report(obj)
            into = result.undecodable if isinstance(model, Undecodable) else result.items
            into.append(model)
        return result

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        return self._of_model(self._objects.decode_event(line))

    def decode_events(
        self, lines: Sequence[bytes]
    ) -> tuple[list[WatchEvent[Any]], DecodeError | None]:
        events, error = self._objects.decode_events(lines)
        return [*map(self._of_model, events)], error

    def _to_model(self, obj: Unstructured) -> Any:
        asked = self._objects.asked
        if asked is not None and obj.kind not in ("", asked.kind):
            return obj
        try:
            return to_model(obj, self.type)
        except ObjectDecodeError as error:
            raise DecodeError(str(error)) from error

    def _of_model(self, event: WatchEvent[Any]) -> WatchEvent[Any]:
        """An event with its object as a model; a bookmark has none."""
        if event.type == EventType.BOOKMARK or not isinstance(event.object, Unstructured):
            return event
        return WatchEvent(event.type, self._model_or_report(event.object))

    def _model_or_report(self, obj: Unstructured) -> Any:
        try:
            return to_model(obj, self.type)
        except ObjectDecodeError as error:
            return Undecodable(str(error), encode(obj), obj.metadata)


def _name_of(model: type) -> _ModelName:
    types = getattr(model, "openapi_types", {})
    metadata = types.get("metadata")
    if metadata == "V1ListMeta":
        raise TypeError(f"{model.__name__} is a list; pass the class of its items")
    name = _NAME.fullmatch(model.__name__)
    if name is None or metadata != "V1ObjectMeta" or "kind" not in types:
        raise TypeError(f"{model.__name__} is no API object; pass a class such as V1Pod")
    return _ModelName((name[1] or "").lower(), name[2].lower(), name[3])
