"""Decoding JSON from the wire into the target type, and encoding requests.

Promises: one pass for a watch event, and one for each item of a list page; an object keeps a copy
of its own bytes, never a page or buffer. An object that does not decode becomes an
:class:`Undecodable` in its place; the others are not affected. An answer that is no object, list or
event of the kind asked for raises (:mod:`clientgo.meta.wire.answers`).

Differs from client-go (apimachinery `runtime` serializers): bodies are decoded on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from clientgo.meta.decoding import convert_leniently, decode, decoder
from clientgo.meta.errors import StatusError
from clientgo.meta.group_version import APIResource
from clientgo.meta.nesting import refuses_too_deep, too_deep
from clientgo.meta.objects.foreign_models import (
    KubernetesModel,
    is_foreign_model,
    model_of,
    plain_of_model,
)
from clientgo.meta.objects.object_meta import ListMeta, ObjectMeta
from clientgo.meta.objects.object_name import object_key
from clientgo.meta.objects.partial_metadata import PartialObjectMetadata
from clientgo.meta.objects.resource import APIObject, ObjectDecodeError, Resource
from clientgo.meta.objects.unstructured import Unstructured
from clientgo.meta.watch_event import EventType, WatchEvent
from clientgo.meta.wire.answers import (
    DecodeError,
    any_status_in,
    check_list,
    check_object,
    check_review,
    is_of_kind,
    is_success,
    named_kind,
    read_status,
    shown,
    status_in,
)
from clientgo.meta.wire.outer_json import (
    IDENTITY,
    REFUSALS,
    Page,
    TypeMeta,
    identity_of,
    page_of,
    raw_event_of,
    why,
)

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


class _EventHeader(Struct):
    type: str
    object: TypeMeta


_ERROR: Final = EventType.ERROR.value
"""Plain text: it is compared with the type of every event."""

_CHANGES: Final = tuple(
    type_.value for type_ in (EventType.MODIFIED, EventType.ADDED, EventType.DELETED)
)


class Codec(Generic[T]):
    """Decodes and encodes objects of one type; immutable, safe for every thread.

    ``asked`` is the kind that answers must be of, if they say one. By default it is what the type
    is declared as; unstructured objects and headers may be of any kind.
    """

    __slots__ = ("_beginnings", "_decode", "_decode_event", "asked", "type")

    def __init__(self, type_: type[T], asked: APIResource | None = None) -> None:
        self.type = type_
        self.asked: APIResource | None = asked or _declared(type_)
        self._decode = decoder(type_).decode
        self._decode_event = decoder(WatchEvent[type_]).decode  # type: ignore[valid-type]
        self._beginnings = _beginnings_of_events(self.asked)

    def __reduce__(self) -> tuple[Any, ...]:
        return Codec, (self.type, self.asked)

    def decode(self, raw: bytes) -> T:
        """One object, of whatever kind. Raises :class:`DecodeError` when its header cannot be
        read."""
        obj = self._decode_or_report(raw)
        if isinstance(obj, Undecodable):
            raise DecodeError(f"not {named_kind(self.asked)}: {obj.reason}; got {shown(raw)}")
        return obj

    def decode_answer(self, raw: bytes, *, named: bool = True, any_kind: bool = False) -> T:
        """The one object that a server answers with.

        Raises :class:`~clientgo.meta.StatusError` for a Status of failure and :class:`DecodeError`
        for what is no object, has no name, or says that it is of another kind. Without ``named``
        its kind is enough, as of a review; with ``any_kind`` it may be any.
        """
        what = named_kind(self.asked)
        said = check_object(raw, None if any_kind else self.asked, what)
        obj = self.decode(raw)
        if not obj.metadata.name and (named or not said.kind):
            raise DecodeError(f"not {what}: it has no name; got {shown(raw)}")
        if said.kind.endswith("Review"):
            check_review(raw, what)
        return obj

    def decode_created_part(self, raw: bytes) -> T:
        """What a server answers when something is created under an object.

        That is an object of any kind or, for an Eviction or a Binding, a Status of success.
        """
        if is_success(any_status_in(raw)):
            return self.decode(raw)
        return self.decode_answer(raw, named=False, any_kind=True)

    def decode_list(self, raw: bytes) -> ObjectList[T]:
        """One page of a list.

        Raises :class:`~clientgo.meta.StatusError` for a Status of failure and :class:`DecodeError`
        for what is no list of objects of the kind.
        """
        what = f"a list of {named_kind(self.asked)}"
        try:
            page = page_of(raw)
        except REFUSALS as error:
            raise DecodeError(f"not {what}: {why(error, raw)}; got {shown(raw)}") from error
        says_kind = check_list(page, raw, self.asked, what)
        # bytes() cuts an item out, so that it does not keep the page alive.
        items = [*map(bytes, page.items or ())]
        if not says_kind:
            for item in items:
                check_object(item, self.asked, named_kind(self.asked))
        metadata = page.metadata or ListMeta()
        result = self._decode_items(items, metadata, is_text=_not_text(raw) is None)
        if self.type is Unstructured and page.kind != "List" and page.kind.endswith("List"):
            _complete_items(result.items, page)
        return result

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        """One line of a watch stream; its object is a T, a :class:`Status` or an
        :class:`Undecodable`.

        A Status of failure is an ERROR event, wherever it stands. Raises :class:`DecodeError` when
        the line is no event, or its object not of the kind.
        """
        if not line.isascii() and _not_text(line) is not None:
            return self._decode_odd_event(line)
        try:
            event: WatchEvent[Any] = self._decode_event(line)
        except REFUSALS:
            return self._decode_odd_event(line)
        obj = event.object
        if not (line.startswith(self._beginnings) and obj.metadata.name):
            return self._decode_less_usual_event(event, line)
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
        except REFUSALS:
            events = []
        if not events:
            return self._decode_each_event(lines)
        beginnings = self._beginnings
        for event, line in zip(events, lines, strict=True):
            obj = event.object
            if not (line.startswith(beginnings) and obj.metadata.name):
                return self._decode_each_event(lines)
            obj._raw = line
            obj._enclosed = True
        return events, None

    def _decode_less_usual_event(self, event: WatchEvent[Any], line: bytes) -> WatchEvent[Any]:
        """An event that is sound as such; the line is written in another way, or is no change."""
        try:
            header = decode(line, _EventHeader)
        except REFUSALS:
            return self._decode_odd_event(line)
        is_change = header.type in _CHANGES and is_of_kind(header.object, self.asked)
        if not (is_change and event.object.metadata.name):
            return self._decode_odd_event(line)
        event.object._raw = line
        event.object._enclosed = True
        return event

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
        except REFUSALS:
            return self._decode_one_by_one(raws, metadata)
        for obj, raw in zip(items, raws, strict=True):
            if not obj.metadata.name:
                return self._decode_one_by_one(raws, metadata)
            obj._raw = raw
        return ObjectList(metadata=metadata, items=items)

    def _decode_one_by_one(self, raws: list[bytes], metadata: ListMeta) -> ObjectList[T]:
        result: ObjectList[T] = ObjectList(metadata=metadata, items=[])
        for raw in raws:
            obj = self._decode_or_report(raw)
            if not raw.startswith(b"{"):
                raise DecodeError(f"an item of the list is no object; got {shown(raw)}")
            if isinstance(obj, Undecodable):
                result.undecodable.append(obj)
            elif obj.metadata.name:
                result.items.append(obj)
            else:
                check_object(raw, self.asked, named_kind(self.asked))
                raise DecodeError(f"an item of the list has no name; got {shown(raw)}")
        return result

    def _decode_odd_event(self, line: bytes) -> WatchEvent[Any]:
        what = f"a watch event of {named_kind(self.asked)}"
        try:
            event = raw_event_of(line)
        except REFUSALS as error:
            if status := status_in(line, what):
                return WatchEvent(_ERROR, status)
            raise DecodeError(
                f"not a watch event: {why(error, line)}; got {shown(line)}"
            ) from error
        raw = bytes(event.object)
        if event.type == _ERROR:
            try:
                return WatchEvent(event.type, read_status(raw))
            except REFUSALS as error:
                reason = why(error, line)
                raise DecodeError(f"not a watch event: {reason}; got {shown(line)}") from error
        try:
            check_object(raw, self.asked, what)
        except StatusError as error:
            return WatchEvent(_ERROR, error.status)
        obj = self._decode_or_report(raw)
        is_named = isinstance(obj, Undecodable) or obj.metadata.name
        if not is_named and event.type in _CHANGES:
            raise DecodeError(f"not {what}: it has no name; got {shown(line)}")
        return WatchEvent(event.type, obj)

    def _decode_or_report(self, raw: bytes) -> T | Undecodable:
        try:
            obj = self._decode(raw)
        except msgspec.ValidationError as error:
            try:
                return self._decode_leniently(raw, str(error))
            except RecursionError:
                return Undecodable(too_deep(raw), raw, identity_of(raw))
        except RecursionError:
            return Undecodable(too_deep(raw), raw, identity_of(raw))
        except REFUSALS as error:
            return Undecodable(str(error), raw, identity_of(raw))
        reason = _not_text(raw)
        if reason is not None:
            return Undecodable(reason, raw, obj.metadata)
        obj._raw = raw
        return obj

    def _decode_leniently(self, raw: bytes, reason: str) -> T | Undecodable:
        try:
            plain = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Undecodable(reason, raw, identity_of(raw))
        try:
            obj = convert_leniently(plain, self.type)
        except msgspec.ValidationError:
            return Undecodable(reason, raw, _legible_metadata(plain))
        obj._raw = raw
        return obj


def _declared(type_: type) -> APIResource | None:
    found: APIResource | None = getattr(type_, "__resource__", None)
    return None if type_ is PartialObjectMetadata else found


def _beginnings_of_events(asked: APIResource | None) -> tuple[bytes, ...]:
    """How servers begin a change of an object of a kind.

    Custom resources have their version first, others their kind. To compare the beginning of a
    line costs a fraction of reading what else might stand there.
    """
    heads = ["{"]
    if asked is not None and asked.kind:
        kind, version = f'"kind":"{asked.kind}"', f'"apiVersion":"{asked.api_version}"'
        heads = [f"{{{kind},{version}", f"{{{version},{kind}"]
    return tuple(
        f'{{"type":"{type_}","object":{head}'.encode() for head in heads for type_ in _CHANGES
    )


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


def _complete_items(items: list[Any], page: Page) -> None:
    """A list of a built-in kind says once what its items are; each item must know it."""
    kind = page.kind.removesuffix("List")
    for item in items:
        item.kind = item.kind or kind
        item.api_version = item.api_version or page.api_version


def _legible_metadata(plain: Any) -> ObjectMeta:
    """The parts of a broken header that can be read, for the report."""
    came = plain.get("metadata") if isinstance(plain, dict) else None
    if not isinstance(came, dict):
        return ObjectMeta()
    return convert_leniently(
        {name: came[name] for name in IDENTITY if isinstance(came.get(name), str)}, ObjectMeta
    )
