"""Declaring webhooks: decorators that give a function a path and a registration.

    @default(CronJob)
    def fill_in(obj: CronJob, ctx: AdmissionContext) -> None:
        obj.spec.suspend = bool(obj.spec.suspend)

A decorated function can still be called directly, as in tests. There is no global table: a server
serves what it was given.

Upstream: controller-runtime ``builder.WebhookManagedBy``, kubebuilder's webhook markers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar, Unpack

from clientgo.meta import Resource, resource_of
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks.admission_review import (
    AdmissionContext,
    Operation,
)
from clientgo.operator.webhooks.handlers import AdmissionHandler, Defaulter, Validator
from clientgo.operator.webhooks.manifest import (
    ManifestOptions,
    RegistrationOptions,
    WebhookManifest,
    manifest_of,
    tuples,
)
from clientgo.operator.webhooks.refusals import FieldErrors

P = TypeVar("P", bound=Resource)
C = TypeVar("C", bound=Resource, contravariant=True)
D = TypeVar("D", bound=Callable[..., Any])

RunCoroutine: TypeAlias = Callable[[str, Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine of a name on an event loop, and waits for its result."""

_ATTRIBUTE: Final = "__clientgo_webhooks__"
_WRITES: Final = (Operation.CREATE, Operation.UPDATE)


@dataclass(frozen=True, slots=True)
class AdmissionWebhook:
    """A webhook: its registration and its handler."""

    manifest: WebhookManifest
    handler: AdmissionHandler


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What a decorator stores on a function or method."""

    manifest: WebhookManifest
    parameters: tuple[str, ...]
    handler_for: Callable[[Callable[..., Any]], AdmissionHandler]

    def bind(self, function: Callable[..., Any], run: RunCoroutine | None) -> AdmissionWebhook:
        """Return the webhook with ``function``, bound to its object, as its handler."""
        try:
            inspect.signature(function).bind(*self.parameters)
        except TypeError as error:
            raise DeclarationError(
                f"webhook {self.manifest.name!r} calls "
                f"{getattr(function, '__qualname__', function)}({', '.join(self.parameters)}): "
                f"{error}"
            ) from None
        if inspect.iscoroutinefunction(function):
            function = _waiting(function, run, self.manifest.name)
        return AdmissionWebhook(self.manifest, self.handler_for(function))


def _waiting(
    function: Callable[..., Any], run: RunCoroutine | None, name: str
) -> Callable[..., Any]:
    """Return a function that waits for a coroutine, in the thread of the call."""
    if run is None:
        raise DeclarationError(
            f"webhook {name!r} is async, and there is no event loop: register it with "
            "manager.webhook(...), or write an ordinary function"
        )

    def call(*args: Any) -> Any:
        return run(name, function(*args))

    return call


def default(
    kind: type[P],
    *,
    path: str | None = None,
    remove_unknown: bool = False,
    **manifest: Unpack[ManifestOptions],
) -> Callable[[D], D]:
    """Fill in objects of ``kind`` on create and update: ``(obj, ctx) -> None or another obj``.

    ``remove_unknown`` lets the patch remove fields that the type does not declare. Raises
    ``DeclarationError`` for bad options, ``TypeError`` for an undeclared kind.
    """
    declared = manifest_of(
        resource_of(kind), mutating=True, path=path, operations=_WRITES, options=manifest
    )
    return _declaring(
        declared,
        ("obj", "ctx"),
        lambda fill_in: Defaulter(kind, fill_in, remove_unknown=remove_unknown),
    )


def validate(
    kind: type[P],
    *,
    on: Collection[Operation] = _WRITES,
    path: str | None = None,
    **manifest: Unpack[ManifestOptions],
) -> Callable[[D], D]:
    """Validate objects of ``kind``: ``(obj, old, ctx) -> None, warnings or FieldErrors``.

    On delete ``obj`` is the deleted object; only on update there is ``old``. To refuse, raise
    ``Denied``, a ``FieldErrors`` or an error of the API. Raises as :func:`default` does.
    """
    operations = _operations(on)
    declared = manifest_of(
        resource_of(kind), mutating=False, path=path, operations=operations, options=manifest
    )
    return _declaring(
        declared, ("obj", "old", "ctx"), lambda check: Validator(kind, check, operations)
    )


def mutate_raw(
    path: str,
    *,
    name: str,
    groups: Sequence[str],
    versions: Sequence[str],
    resources: Sequence[str],
    operations: Collection[Operation] = _WRITES,
    **manifest: Unpack[RegistrationOptions],
) -> Callable[[D], D]:
    """Answer reviews of any kinds: ``(AdmissionRequest) -> AdmissionResponse``."""
    declared = WebhookManifest(
        path=path,
        mutating=True,
        name=name,
        groups=tuple(groups),
        versions=tuple(versions),
        resources=tuple(resources),
        operations=_operations(operations),
        **tuples(manifest),
    )
    return _declaring(declared, ("request",), lambda answer: lambda request, _ctx: answer(request))


class Validates(Protocol[C]):
    """A reconciler with a ``validate`` that a webhook can share."""

    def validate(self, obj: C, old: C | None, op: Operation) -> Any: ...


class Initialises(Protocol[C]):
    """A reconciler with an ``initialise`` that a webhook can share."""

    def initialise(self, obj: C) -> bool: ...


def validating(
    reconciler: Validates[P],
    kind: type[P],
    *,
    on: Collection[Operation] = _WRITES,
    path: str | None = None,
    **manifest: Unpack[ManifestOptions],
) -> Callable[..., Any]:
    """Make a webhook of a reconciler's ``validate``, to use it in both places."""

    @validate(kind, on=on, path=path, **manifest)
    def check(obj: P, old: P | None, ctx: AdmissionContext) -> FieldErrors | Sequence[str] | None:
        result: FieldErrors | Sequence[str] | None = reconciler.validate(obj, old, ctx.operation)
        return result

    return check


def defaulting(
    reconciler: Initialises[P],
    kind: type[P],
    *,
    path: str | None = None,
    **manifest: Unpack[ManifestOptions],
) -> Callable[..., Any]:
    """Make a webhook of a reconciler's ``initialise``, so that stored objects are complete."""

    @default(kind, path=path, **manifest)
    def fill_in(obj: P, _ctx: AdmissionContext) -> None:
        reconciler.initialise(obj)

    return fill_in


def webhooks_of(handler: Any, run: RunCoroutine | None = None) -> list[AdmissionWebhook]:
    """Return the webhooks that a function, method, object or class declares.

    ``run`` is for those that are ``async def``. A class is instantiated without arguments. Raises
    ``DeclarationError`` for a function with the wrong parameters.
    """
    return [
        declaration.bind(function, run)
        for function in _functions_of(handler)
        for declaration in _declarations_on(function)
    ]


def instance_of(handler: Any) -> Any:
    """Return the handler itself, or an instance of it if it is a class."""
    if not isinstance(handler, type):
        return handler
    try:
        return handler()
    except TypeError as error:
        raise DeclarationError(
            f"{handler.__name__} cannot be made without arguments: {error}; "
            "register an instance instead"
        ) from error


def _functions_of(handler: Any) -> Iterator[Callable[..., Any]]:
    if inspect.isroutine(handler):
        yield handler
        return
    owner = instance_of(handler)
    for name, member in inspect.getmembers_static(type(owner)):
        if _declarations_on(getattr(member, "__func__", member)):
            yield getattr(owner, name)


def _declarations_on(function: Any) -> tuple[_Declaration, ...]:
    declared: tuple[_Declaration, ...] = getattr(function, _ATTRIBUTE, ())
    return declared


def _declaring(
    manifest: WebhookManifest,
    parameters: tuple[str, ...],
    handler_for: Callable[[Any], AdmissionHandler],
) -> Callable[[D], D]:
    def declare(function: D) -> D:
        declaration = _Declaration(manifest, parameters, handler_for)
        setattr(function, _ATTRIBUTE, (*_declarations_on(function), declaration))
        return function

    return declare


def _operations(wanted: Collection[Operation | str]) -> tuple[Operation, ...]:
    """Return the operations, some perhaps given as text, in the order of the enum."""
    try:
        chosen = {Operation(str(operation).upper()) for operation in wanted}
    except ValueError as error:
        raise DeclarationError(f"{error}; the operations are {', '.join(Operation)}") from None
    return tuple(operation for operation in Operation if operation in chosen)
