"""Decoding JSON from the wire into the target type, and encoding requests.

Promises: one pass for a watch event, and one for each item of a list page; an object keeps a copy
of its own bytes, never a page or buffer. An object that does not decode becomes an
:class:`Undecodable` in its place; the others are not affected.

Differs from client-go (apimachinery `runtime` serializers): bodies are decoded on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from clientgo.copies import CopyableError
from clientgo.meta.decoding import convert_leniently, decode, decoder
from clientgo.meta.nesting import items_of, members_of, refuses_too_deep, too_deep
from clientgo.meta.objects.foreign_models import (
    KubernetesModel,
    is_foreign_model,
    model_of,
    plain_of_model,
)
from clientgo.meta.objects.object_meta import ListMeta, ObjectMeta
from clientgo.meta.objects.object_name import object_key
from clientgo.meta.objects.resource import APIObject, ObjectDecodeError, Resource
from clientgo.meta.objects.unstructured import Unstructured
from clientgo.meta.status import Status
from clientgo.meta.watch_event import EventType, WatchEvent

T = TypeVar("T", bound=APIObject)
M = TypeVar("M", bound=KubernetesModel)
Item = TypeVar("Item")


class Undecodable(Struct, frozen=True, gc=False):
    """Stands for an object that could not be decoded: what is known of it, and why.

    ``raw`` is its JSON, for a report or a second try. ``metadata`` is empty where even the header
    could not be read.
    """

    reason: str
    raw: bytes
    metadata: ObjectMeta


class ObjectList(Struct, Generic[Item], kw_only=True):
    """One page of a list: its items in the server's order, and its header."""

    metadata: ListMeta
    items: list[Item]
    undecodable: list[Undecodable] = field(default_factory=list)


class DecodeError(CopyableError, ValueError):
    """Bytes from the server that are no JSON, or no list or event where one must be."""


class _Page(Struct):
    items: list[Raw] | None = None
    metadata: ListMeta = field(default_factory=ListMeta)
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""


class _RawEvent(Struct):
    type: str
    object: Raw


class _StatusEvent(Struct):
    object: Status


_TABLE_VERSIONS: Final = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")

_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")

_ERROR: Final = EventType.ERROR.value
"""Plain text: it is compared with the type of every event."""

_REFUSALS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoder raises: text that is no UTF-8 is noticed only when it is looked at."""


class Codec(Generic[T]):
    """Decodes and encodes objects of one type; immutable, safe for every thread."""

    __slots__ = ("_decode", "_decode_event", "type")

    def __init__(self, type_: type[T]) -> None:
        self.type = type_
        self._decode = decoder(type_).decode
        self._decode_event = decoder(WatchEvent[type_]).decode  # type: ignore[valid-type]

    def __reduce__(self) -> tuple[Any, ...]:
        return Codec, (self.type,)

    def decode(self, raw: bytes) -> T:
        """One object. Raises :class:`DecodeError` when its header cannot be read."""
        obj = self._decode_or_report(raw)
        if isinstance(obj, Undecodable):
            raise DecodeError(f"not a {self.type.__name__}: {obj.reason}; got {raw[:120]!r}")
        return obj

    def decode_list(self, raw: bytes) -> ObjectList[T]:
        """One page of a list. Raises :class:`DecodeError` when it is no list of objects."""
        try:
            page = _page_of(raw)
        except _REFUSALS as error:
            raise DecodeError(f"not a list: {_why(error, raw)}; got {raw[:120]!r}") from error
        if is_table(page.api_version, page.kind):
            raise DecodeError(f"not a list of objects but a Table; got {raw[:120]!r}")
        # bytes() cuts an item out, so that it does not keep the page alive.
        items = [*map(bytes, page.items or ())]
        result = self._decode_items(items, page.metadata, is_text=_not_text(raw) is None)
        if self.type is Unstructured and page.kind.endswith("List"):
            _complete_items(result.items, page)
        return result

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        """One line of a watch stream; its object is a T, a :class:`Status` or an
        :class:`Undecodable`. Raises :class:`DecodeError` when the line is no event at all."""
        if not line.isascii() and _not_text(line) is not None:
            return self._decode_odd_event(line)
        try:
            event: WatchEvent[Any] = self._decode_event(line)
        except (msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            return self._decode_odd_event(line)
        except msgspec.DecodeError as error:
            raise DecodeError(f"not a watch event: {error}; got {line[:120]!r}") from error
        if event.type == _ERROR:
            return self._decode_odd_event(line)
        obj = event.object
        obj._raw = line
        obj._enclosed = True
        return event

    def decode_events(
        self, lines: Sequence[bytes]
    ) -> tuple[list[WatchEvent[Any]], DecodeError | None]:
        """Several lines, as :meth:`decode_event` does each; blank ones are skipped.

        Returns the events before the first line that is none, and the error for that line.
        """
        try:
            # In one go if all are sound, which is the usual case.
            events: list[Any] = [*map(self._decode_event, lines)] if _are_text(lines) else []
        except _REFUSALS:
            events = []
        if not events:
            return self._decode_each_event(lines)
        for event, line in zip(events, lines, strict=True):
            if event.type == _ERROR:
                return self._decode_each_event(lines)
            obj = event.object
            obj._raw = line
            obj._enclosed = True
        return events, None

    def _decode_each_event(
        self, lines: Iterable[bytes]
    ) -> tuple[list[WatchEvent[Any]], DecodeError | None]:
        events = []
        try:
            for line in lines:
                if line.strip():
                    events.append(self.decode_event(line))  # noqa: PERF401 - keeps what came before
        except DecodeError as error:
            return events, error
        return events, None

    def _decode_items(
        self, raws: list[bytes], metadata: ListMeta, *, is_text: bool
    ) -> ObjectList[T]:
        """Decode all items in one go if all are sound, which is the usual case."""
        if not is_text:
            return self._decode_one_by_one(raws, metadata)
        try:
            items = [*map(self._decode, raws)]
        except _REFUSALS:
            return self._decode_one_by_one(raws, metadata)
        for obj, raw in zip(items, raws, strict=True):
            obj._raw = raw
        return ObjectList(metadata=metadata, items=items)

    def _decode_one_by_one(self, raws: list[bytes], metadata: ListMeta) -> ObjectList[T]:
        result: ObjectList[T] = ObjectList(metadata=metadata, items=[])
        for raw in raws:
            obj = self._decode_or_report(raw)
            if isinstance(obj, Undecodable):
                result.undecodable.append(obj)
            else:
                result.items.append(obj)
        return result

    def _decode_odd_event(self, line: bytes) -> WatchEvent[Any]:
        try:
            event = _raw_event_of(line)
            if event.type == _ERROR:
                return WatchEvent(event.type, decode(line, _StatusEvent).object)
        except _REFUSALS as error:
            reason = _why(error, line)
            raise DecodeError(f"not a watch event: {reason}; got {line[:120]!r}") from error
        return WatchEvent(event.type, self._decode_or_report(bytes(event.object)))

    def _decode_or_report(self, raw: bytes) -> T | Undecodable:
        try:
            obj = self._decode(raw)
        except msgspec.ValidationError as error:
            try:
                return self._decode_leniently(raw, str(error))
            except RecursionError:
                return _deep_object(raw)
        except RecursionError:
            return _deep_object(raw)
        except _REFUSALS as error:
            return Undecodable(str(error), raw, ObjectMeta())
        reason = _not_text(raw)
        if reason is not None:
            return Undecodable(reason, raw, obj.metadata)
        obj._raw = raw
        return obj

    def _decode_leniently(self, raw: bytes, reason: str) -> T | Undecodable:
        try:
            plain = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Undecodable(reason, raw, ObjectMeta())
        try:
            obj = convert_leniently(plain, self.type)
        except msgspec.ValidationError:
            return Undecodable(reason, raw, _legible_metadata(plain))
        obj._raw = raw
        return obj


def is_table(api_version: str, kind: str) -> bool:
    """Return True for a list printed for people. Other groups may have Tables too."""
    return kind == "Table" and api_version in _TABLE_VERSIONS


def encode(obj: Resource | Unstructured | Mapping[str, Any] | KubernetesModel) -> bytes:
    """An object as JSON, ready to send; plain dicts and ``kubernetes`` models are taken too."""
    return encode_plain(to_plain(obj))


@refuses_too_deep(ValueError)
def encode_plain(plain: Any) -> bytes:
    """JSON values as JSON; models of the ``kubernetes`` package may be among them.

    Raises ``TypeError`` for any other value, ``ValueError`` for one that is nested too deeply.
    """
    return msgspec.json.encode(plain, enc_hook=_plain_part)


def _plain_part(value: Any) -> Any:
    if is_foreign_model(value):
        return plain_of_model(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON: {value!r:.80}")


def to_plain(obj: Any) -> dict[str, Any]:
    """Any object that the library accepts as plain JSON values.

    Raises ``TypeError`` for a value that is no API object.
    """
    if isinstance(obj, Resource | Unstructured):
        return obj.to_dict()
    if isinstance(obj, Mapping):
        return dict(obj)
    if is_foreign_model(obj):
        plain: dict[str, Any] = plain_of_model(obj)
        return plain
    raise TypeError(
        f"a {type(obj).__name__} is no API object: pass a Resource, an Unstructured, a dict, "
        "or a model of the kubernetes package"
    )


def to_model(obj: Any, model: type[M]) -> M:
    """Any object that the library accepts as a model of the ``kubernetes`` package.

    ``model`` is a class of it, such as ``V1Pod``. The result is the caller's own. Fields that the
    class does not know are not in the model, but are kept when it is written. Raises
    :class:`ObjectDecodeError` for an object that the class does not accept, ``TypeError`` for a
    value that is no API object.
    """
    plain = to_plain(obj)
    try:
        return model_of(model, plain)
    except Exception as error:  # noqa: BLE001 - whatever a version of that package raises
        reason = _reason_of(error)
    # Not chained: the errors of some versions quote values, which may be secret.
    raise ObjectDecodeError(
        model.__name__,
        object_key(obj),
        reason,
        "correct the object, or use the version of the kubernetes package for this server",
    )


def _reason_of(error: Exception) -> str:
    problems = getattr(error, "errors", None)
    if not callable(problems):
        return f"{type(error).__name__}: {error}"
    return ", ".join(
        ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
        for problem in problems()
    )


def _not_text(raw: bytes) -> str | None:
    """Return why bytes are not UTF-8; None if they are.

    The decoder does not look at the text of a body that is left for later.
    """
    if raw.isascii():
        return None
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return str(error)
    return None


def _are_text(lines: Sequence[bytes]) -> bool:
    return all(map(bytes.isascii, lines)) or not any(map(_not_text, lines))


def _complete_items(items: list[Any], page: _Page) -> None:
    """A list of a built-in kind says once what its items are; each item must know it."""
    kind = page.kind.removesuffix("List")
    for item in items:
        item.kind = item.kind or kind
        item.api_version = item.api_version or page.api_version


def _why(error: Exception, raw: bytes) -> str:
    return too_deep(raw) if isinstance(error, RecursionError) else str(error)


def _page_of(raw: bytes) -> _Page:
    """Decode a page, or cut it into its items where one is nested too deeply for that."""
    try:
        return decode(raw, _Page)
    except RecursionError:
        members = _members_of(raw)
    items = members.pop("items", b"null")
    page = decode(_object_of(members, _Page.__struct_encode_fields__), _Page)
    if items != b"null":
        try:
            page.items = [*map(Raw, items_of(items))]
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from error
    return page


def _raw_event_of(line: bytes) -> _RawEvent:
    """Decode an event, or cut its object out where that is nested too deeply."""
    try:
        return decode(line, _RawEvent)
    except RecursionError:
        members = _members_of(line)
    obj = members.get("object", b"")
    if obj:
        members["object"] = b"{}"
    event = decode(_object_of(members, ("type", "object")), _RawEvent)
    event.object = Raw(obj)
    return event


def _deep_object(raw: bytes) -> Undecodable:
    """Report an object that is nested too deeply, with its name."""
    try:
        metadata = members_of(members_of(raw)["metadata"])
        known = [name for name in _IDENTITY if metadata.get(name, b"").startswith(b'"')]
        return Undecodable(too_deep(raw), raw, decode(_object_of(metadata, known), ObjectMeta))
    except (KeyError, ValueError):
        return Undecodable(too_deep(raw), raw, ObjectMeta())


def _members_of(raw: bytes) -> dict[str, bytes]:
    try:
        return members_of(raw)
    except ValueError as error:
        raise msgspec.DecodeError(f"{error}, {too_deep(raw)}") from error


def _object_of(members: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    """Return the JSON of an object that has these of the members."""
    return msgspec.json.encode({name: Raw(members[name]) for name in names if name in members})


def _legible_metadata(plain: Any) -> ObjectMeta:
    """The parts of a broken header that can be read, for the report."""
    came = plain.get("metadata") if isinstance(plain, dict) else None
    if not isinstance(came, dict):
        return ObjectMeta()
    return convert_leniently(
        {name: came[name] for name in _IDENTITY if isinstance(came.get(name), str)}, ObjectMeta
    )
