"""API objects: a typed header, decoded at the start, and a body, decoded on first use.

Promises: reading `obj.metadata` costs nothing; the body (`foo.spec`, `obj["data"]`) is decoded once
from the object's own JSON, so fields that the type does not know survive an update. Until then the
garbage collector has nothing to visit.

Does not prevent writes: objects of a cache are read-only by agreement; :func:`deep_copy` gives one
to change. Two threads may both decode a body; the results are equal, and one is kept.

Differs from client-go, which decodes every object whole: in Python that bounds an informer.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast, dataclass_transform

import msgspec
from msgspec import Struct, StructMeta, field, structs

from clientgo.meta.decoding import convert_leniently, convert_misfitting, decoder
from clientgo.meta.group_version import APIResource
from clientgo.meta.json_values import without_nulls
from clientgo.meta.nesting import too_deep
from clientgo.meta.objects.class_annotations import annotations_of, pop_annotations
from clientgo.meta.objects.copying import copy_value, shallow_copy
from clientgo.meta.objects.object_meta import ObjectMeta
from clientgo.meta.objects.object_name import object_key
from clientgo.meta.objects.overlay import overlay
from clientgo.util.copies import CopyableError

R = TypeVar("R", bound="Resource")
T = TypeVar("T")


def _fields_among(annotations: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a class that declare fields of its objects."""
    return {
        attribute: annotation
        for attribute, annotation in annotations.items()
        if not attribute.startswith("__") and "ClassVar" not in str(annotation)
    }


def _default(value: Any) -> Any:
    """A Struct that may be changed must not be shared as a default: each object gets its own."""
    if isinstance(value, Struct) and not type(value).__struct_config__.frozen:
        return field(default_factory=lambda: copy_value(value))
    return value


class ModelMeta(StructMeta):
    """Makes every class below :class:`Model` keyword-only; msgspec does not inherit that.

    It also keeps the garbage collector from visiting a hundred thousand bodies, and lets a model
    be the default of a field: each object gets its own copy.
    """

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        for attribute in _fields_among(annotations_of(namespace)):
            if attribute in namespace:
                namespace[attribute] = _default(namespace[attribute])
        return super().__new__(
            mcls, name, bases, namespace, **{"kw_only": True, "gc": False, **options}
        )


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Model(Struct, metaclass=ModelMeta, rename="camel"):
    """Base for the parts of an object: ``snake_case`` here, ``camelCase`` on the wire.

    Fields are given by keyword, so a required field may follow an optional one. ``None`` is left
    out of what is sent. Other defaults are sent, because a default in Python is not a default in
    the server. Any ``msgspec.Struct`` may be used instead.

    The garbage collector does not visit models, so one that holds itself is never freed; declare
    the class with ``gc=True`` if that can happen.
    """


class ObjectDecodeError(CopyableError, ValueError):
    """The body of an object is of another JSON type than its class declares.

    Raised on first access of the body. ``kind`` and ``key`` name the object, ``reason`` the field.
    The object can still be read as it came through ``to_dict()``.
    """

    def __init__(
        self,
        kind: str,
        key: str,
        reason: str,
        advice: str = "correct the object or widen the type's annotation",
    ) -> None:
        super().__init__(f"{kind} {key!r} does not fit its declared type: {reason}; {advice}")
        self.kind = kind
        self.key = key
        self.reason = reason


REFUSALS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding JSON raises; text that is no UTF-8 is noticed only when it is decoded."""


class BodyField:
    """One declared field of a resource: decodes the object's body when it is first touched."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, obj: Resource | None, owner: type) -> Any:
        if obj is None:
            return self
        body = obj._body
        return getattr(obj._loaded_body() if body is None else body, self.name)

    def __set__(self, obj: Resource, value: Any) -> None:
        setattr(obj._loaded_body(), self.name, value)


class ResourceMeta(StructMeta):
    """Moves the fields that a resource class declares into a body that is decoded lazily.

    What stays is a Struct of the header alone, which is what the wire is decoded into.
    """

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        if not any(isinstance(base, ResourceMeta) for base in bases):
            return super().__new__(mcls, name, bases, namespace, **options)
        fields: list[tuple[Any, ...]] = []
        for attribute, annotation in _fields_among(pop_annotations(namespace)).items():
            default = (_default(namespace[attribute]),) if attribute in namespace else ()
            fields.append((attribute, annotation, *default))
            namespace[attribute] = BodyField(attribute)
        cls = super().__new__(mcls, name, bases, namespace, **options)
        body = msgspec.defstruct(
            f"{name}Body",
            fields,
            bases=tuple(base.__body__ for base in bases if hasattr(base, "__body__")) or None,
            module=namespace["__module__"],
            rename="camel",
            kw_only=True,
            gc=False,
        )
        type.__setattr__(cls, "__body__", body)
        return cls

    def __call__(cls, *, metadata: ObjectMeta | None = None, **body: Any) -> Any:
        obj = super().__call__(metadata=metadata if metadata is not None else ObjectMeta())
        obj._body = cls.__body__(**body)  # type: ignore[attr-defined]
        return obj


class APIObject(Struct, gc=False, eq=False, kw_only=True):
    """What :class:`Resource` and :class:`~clientgo.meta.objects.unstructured.Unstructured` share.

    ``_raw`` is the JSON that the object came from or, when ``_enclosed``, that of the watch event
    around it: one slice of the stream serves, without a second scan for where the object begins.
    The wire names of the private fields are none that a Kubernetes object can have.
    """

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    _raw: bytes | None = field(default=None, name="~raw")
    _enclosed: bool = field(default=False, name="~enclosed")
    _body: Any = field(default=None, name="~body")

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __copy__(self) -> Self:
        duplicate: Self = shallow_copy(self)
        # Each has its own fields: to set one of the copy must not change the original.
        duplicate._body = copy.copy(self._body)
        return duplicate

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return deep_copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        header = {name: getattr(self, name) for name in self.__struct_fields__ if name != "_body"}
        return _restored, (type(self), header, self._stored_body())

    def _stored_body(self) -> Any:
        """The body as it is pickled."""
        return self._body

    @classmethod
    def _restored_body(cls, stored: Any) -> Any:
        return stored

    def _original(self) -> dict[str, Any]:
        """The object as it came off the wire, decoded again; empty for one made here."""
        if self._raw is None:
            return {}
        try:
            plain: dict[str, Any] = msgspec.json.decode(self._raw)
        except REFUSALS as error:
            raise self._undecodable(error) from error
        inner: dict[str, Any] = plain["object"] if self._enclosed else plain
        return inner

    def _has_header_of(self, raw: bytes) -> bool:
        """Return True if the header is that of the JSON, so that nothing was changed in it."""
        try:
            came: _Header = body_decoder(_Header, self._enclosed)(raw)
        except REFUSALS:  # it was decoded leniently
            return False
        return came.metadata == self.metadata

    def _undecodable(self, error: Exception) -> ObjectDecodeError:
        kind = getattr(self, "kind", "") or type(self).__name__
        reason = str(error)
        if isinstance(error, RecursionError):
            reason = too_deep(self._raw or b"")
        return ObjectDecodeError(kind, object_key(self), reason)

    def _metadata_over(self, plain: dict[str, Any]) -> dict[str, Any]:
        """The metadata of ``plain``, which this object came from, with typed changes laid over.

        ``plain`` belongs to the caller, so what is unchanged is not copied.
        """
        metadata: dict[str, Any] = plain.get("metadata", {})
        if self._raw is not None and self._has_header_of(self._raw):
            if not metadata.get("managedFields", True):
                del metadata["managedFields"]
            return metadata
        # Managed fields are long and are replaced as a whole.
        typed = {key: value for key, value in metadata.items() if key != "managedFields"}
        before, after = convert_leniently(typed, ObjectMeta), copy.copy(self.metadata)
        after.managed_fields = ()
        if before != after:
            metadata = overlay(metadata, _plain(before), _plain(after))
        if managed := self.metadata.managed_fields_json():
            metadata["managedFields"] = managed
        else:
            metadata.pop("managedFields", None)
        return metadata


class _Header(Struct, gc=False):
    """What of an object is decoded at the start."""

    metadata: ObjectMeta


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Resource(APIObject, metaclass=ResourceMeta, gc=False, eq=False):
    """Base of declared resource types; :func:`resource` shows a declaration.

    ``Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(...))`` makes an object to send. Equality
    compares what would be sent.
    """

    __resource__: ClassVar[APIResource]
    __body__: ClassVar[type[Struct]]

    @property
    def api_version(self) -> str:
        return self.__resource__.api_version

    @property
    def kind(self) -> str:
        return self.__resource__.kind

    def to_dict(self) -> dict[str, Any]:
        """The object as plain JSON values, ready to send.

        For an object that came off the wire this is the original with the typed changes laid over
        it; fields that the type does not declare are all there.
        """
        plain: dict[str, Any] = {"apiVersion": self.api_version, "kind": self.kind}
        plain |= self._original()
        try:
            plain["metadata"] = self._metadata_over(plain)
            if self._body is None:
                return plain
            after = _plain(self._body)
            if self._raw is None:
                return plain | after
            before = _plain(self._decode_body())
            changed: dict[str, Any] = overlay(plain, before, after)
        except (RecursionError, msgspec.DecodeError) as error:
            raise self._undecodable(error) from error
        return changed

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        try:
            return self is other or self.to_dict() == other.to_dict()
        except (RecursionError, msgspec.DecodeError) as error:
            raise self._undecodable(error) from error

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.kind} {object_key(self)} @{self.metadata.resource_version or 'new'}>"

    def _stored_body(self) -> Any:
        # By field, because the class of a body has no name that can be imported.
        return None if self._body is None else structs.asdict(self._body)

    @classmethod
    def _restored_body(cls, stored: Any) -> Any:
        return None if stored is None else cls.__body__(**stored)

    def _loaded_body(self) -> Any:
        body = self._body
        if body is None:
            body = self._body = self._decode_body()
        return body

    def _decode_body(self) -> Struct:
        cls = type(self)
        if self._raw is None:
            return cls.__body__()
        try:
            body: Struct = body_decoder(cls.__body__, self._enclosed)(self._raw)
        except REFUSALS:
            return self._decode_body_leniently()
        return body

    def _decode_body_leniently(self) -> Struct:
        original = self._original()
        try:
            return convert_leniently(original, self.__body__)
        except REFUSALS as error:
            # What has no name was never stored, so that it is not older than its rules: what an
            # answer to a review leaves out is not decided.
            if not self.metadata.name or not isinstance(error, msgspec.ValidationError):
                raise self._undecodable(error) from error
        return self._convert_misfitting(original)[0]

    def _convert_misfitting(self, plain: dict[str, Any]) -> tuple[Struct, list[str]]:
        try:
            return convert_misfitting(plain, self.__body__)
        except (msgspec.ValidationError, RecursionError) as error:
            raise self._undecodable(error) from error


class _Enclosing(Struct, Generic[T], gc=False):
    """The part of a watch event that holds the object."""

    object: T


@functools.cache
def body_decoder(body: type, enclosed: bool) -> Callable[[bytes], Any]:
    """Return what decodes a body; looking up a decoder takes longer than decoding.

    The body is that of an object in a watch event if it is `enclosed`.
    """
    if not enclosed:
        return decoder(body).decode
    decode_event = decoder(_Enclosing[body]).decode  # type: ignore[valid-type]
    return lambda raw: decode_event(raw).object


def resource(
    *,
    version: str,
    plural: str,
    group: str = "",
    kind: str = "",
    singular: str = "",
    namespaced: bool = True,
    short_names: tuple[str, ...] = (),
) -> Callable[[type[R]], type[R]]:
    """Declare where a resource class is served.

    ::

        class FooSpec(Model):
            deployment_name: str
            replicas: int | None = None

        @resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
        class Foo(Resource):
            spec: FooSpec
            status: FooStatus = FooStatus()

    The kind is the class's name unless given. A field called ``status`` declares the status
    subresource. Raises ``TypeError`` for a class that is no :class:`Resource`.
    """

    def declare(cls: type[R]) -> type[R]:
        if not (isinstance(cls, type) and issubclass(cls, Resource)):
            raise TypeError(f"@resource declares a class derived from Resource, not {cls!r}")
        name = kind or cls.__name__
        has_status = "status" in cls.__body__.__struct_fields__
        cls.__resource__ = APIResource(
            group=group,
            version=version,
            kind=name,
            plural=plural,
            singular=singular or name.lower(),
            namespaced=namespaced,
            subresources=("status",) if has_status else (),
            short_names=short_names,
        )
        return cls

    return declare


def resource_of(cls: type) -> APIResource:
    """Where a declared class is served; ``TypeError`` for anything else.

    For a resource whose class is not known there is ``client.mapper``.
    """
    if not isinstance(cls, type):
        raise TypeError(
            f"{cls!r} is no class; pass one that is declared with @resource, or let a client find "
            "a resource by its name: client.mapper.resource('configmaps')"
        )
    try:
        declared: APIResource = cls.__resource__  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(
            f"{cls.__name__} is not declared; decorate it with @resource(version=..., plural=...)"
        ) from None
    return declared


def deep_copy(obj: T) -> T:
    """A copy of an object that may be changed; the original and all it holds stay untouched."""
    if not isinstance(obj, APIObject):
        return copy.deepcopy(obj)
    duplicate: Any = shallow_copy(obj)
    # The raw bytes are immutable and shared; an unused body is decoded again.
    duplicate.metadata = _copy_of_metadata(obj.metadata)
    if obj._body is not None:
        duplicate._body = copy_value(obj._body)
    return cast("T", duplicate)


def _restored(cls: type[APIObject], header: dict[str, Any], body: Any) -> APIObject:
    """Make an object from what :meth:`APIObject.__reduce__` gave."""
    make: Any = StructMeta.__call__  # a declared class takes the fields of its body instead
    restored: APIObject = make(cls, **header, _body=cls._restored_body(body))
    return restored


def _copy_of_metadata(metadata: ObjectMeta) -> ObjectMeta:
    """A deep copy, hand-written because every reconcile begins with one."""
    duplicate: ObjectMeta = shallow_copy(metadata)
    duplicate.labels = metadata.labels.copy()
    duplicate.annotations = metadata.annotations.copy()
    if metadata.owner_references:
        duplicate.owner_references = tuple(map(shallow_copy, metadata.owner_references))
    return duplicate


def _plain(part: Struct) -> dict[str, Any]:
    """A Struct as the JSON values that it is on the wire."""
    encoded = msgspec.json.encode(part)
    if _PRIVATE_FIELD in encoded:
        raise TypeError(_whole_object_in(part))
    plain: dict[str, Any] = without_nulls(msgspec.json.decode(encoded))
    return plain


_PRIVATE_FIELD: Final = b'"~enclosed":'
"""In what is sent only if a part of an object is a whole object, whose header alone is encoded."""


def _whole_object_in(part: Struct, path: str = "") -> str:
    """Say which field of a body holds a whole object, and what it should hold; "" if none does."""
    for name in part.__struct_fields__:
        found = getattr(part, name)
        items: Any = [found]
        if isinstance(found, dict):
            items = found.values()
        elif isinstance(found, (list, tuple, set)):
            items = found
        for item in items:
            where = f"{path}.{name}".lstrip(".")
            if isinstance(item, APIObject):
                owner = next(
                    cls for cls in type(part).__mro__ if name in inspect.get_annotations(cls)
                )
                declared = inspect.get_annotations(owner)[name]
                return (
                    f"{where} holds a {type(item).__name__}, which is an object of its own; "
                    f"use the type that the field has in {owner.__name__}: {declared}"
                )
            if isinstance(item, Struct) and (inner := _whole_object_in(item, where)):
                return inner
    return ""
