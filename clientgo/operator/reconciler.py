"""The reconciler: the one thing that a user writes.

Promises that its methods are found and checked when its controller is built.

Source: controller-runtime pkg/reconcile; Java Operator SDK Reconciler, Cleaner, ErrorStatusHandler.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from clientgo.operator.context import Context
from clientgo.operator.errors import DeclarationError
from clientgo.operator.finalizers import Finalizers
from clientgo.operator.mappers import Key
from clientgo.operator.result import Result

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)


Answer: TypeAlias = Result | Coroutine[Any, Any, Result | None] | None
"""What a method of a reconciler returns; an ``async def`` returns a coroutine."""


class Reconciler(Protocol[P_contra]):
    """Brings the cluster to what one object says.

    ``reconcile`` is given a copy of the object as it is now, and no event: a run must be right
    however often it is repeated. It returns a ``Result``, or None for "done", and raises when it
    failed.

    These methods are used if they are there:

    - ``cleanup(ctx, obj) -> Result | None``: the object is being deleted. A finalizer is added
      before the first ``reconcile`` and removed when this returns.
    - ``on_error(ctx, obj, error) -> ErrorResult | None``: ``reconcile`` raised.
    - ``validate(obj, old, operation)``: raises or returns what is wrong with the object. Before a
      ``reconcile`` ``old`` and ``operation`` are None; a webhook made by ``validating`` has them.
      An ``OSError``, an ``OperatorError`` or a transient error says nothing about the object: the
      run has failed and is tried again.
    - ``initialise(obj) -> bool``: fills in what is missing; True if it changed something.
    - ``sources(ctx) -> Iterable[Source]``: more that has to be watched.
    - ``setup(manager)``: called once when the controller is registered.

    The first three may be ``async def``, see ``addons.coroutines``. An attribute ``finalizers``
    adds more clean-ups, see ``Finalizers``; ``addons.tasks`` has decorators for methods that run
    beside the runs.
    """

    def reconcile(self, ctx: Context[Any], obj: P_contra, /) -> Answer: ...


class KeyReconciler(Protocol):
    """A reconciler that is given the name only, also when there is no such object any more."""

    def reconcile_key(self, ctx: Context[Any], key: Key, /) -> Answer: ...


_ARGUMENTS: Final = {
    "reconcile": 2,
    "reconcile_key": 2,
    "cleanup": 2,
    "on_error": 3,
    "validate": 3,
    "initialise": 1,
    "sources": 1,
    "setup": 1,
}
"""How many arguments each method is called with."""

TASK_ATTRIBUTE: Final = "__clientgo_task__"
"""What ``clientgo.operator.addons.tasks`` puts on a method."""

_ASYNC: Final = ("reconcile", "reconcile_key", "cleanup", "on_error")
"""The methods that may be coroutines; the others are called where nothing can wait."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The methods that a reconciler has; None for those that it has not."""

    reconcile: Callable[..., Any] | None
    reconcile_key: Callable[..., Any] | None
    cleanup: Callable[..., Any] | None
    on_error: Callable[..., Any] | None
    validate: Callable[..., Any] | None
    initialise: Callable[..., Any] | None
    sources: Callable[..., Any] | None
    setup: Callable[..., Any] | None
    finalizers: Finalizers[Any]
    is_async: bool = False
    """True if a method is a coroutine."""
    after_cleanup: Callable[[Any, Any, Result], Result] | None = None
    """What is left to do when ``cleanup`` is done with an object; no coroutine."""
    tasks: tuple[Callable[..., Any], ...] = ()
    """The methods that are declared as tasks."""


def shape_of(reconciler: object, controller: str) -> Shape:
    """Find a reconciler's methods.

    Raises ``DeclarationError`` for one that cannot be called as it will be, and for a reconciler
    without ``reconcile`` and ``reconcile_key``, or with both.
    """
    check_instance(reconciler)
    _check_names(reconciler, controller)
    found = {
        name: _method(reconciler, name, count, controller) for name, count in _ARGUMENTS.items()
    }
    finalizers = getattr(reconciler, "finalizers", None) or Finalizers()
    if not isinstance(finalizers, Finalizers):
        raise DeclarationError(
            f"controller {controller}: {type(reconciler).__name__}.finalizers must be Finalizers, "
            f"not {finalizers!r}"
        )
    is_async = finalizers.is_async or any(map(inspect.iscoroutinefunction, found.values()))
    shape = Shape(
        **found, finalizers=finalizers, is_async=is_async, tasks=tuple(_tasks_of(reconciler))
    )
    if (shape.reconcile is None) == (shape.reconcile_key is None):
        raise DeclarationError(
            f"controller {controller}: {type(reconciler).__name__} must have either "
            "reconcile(self, ctx, obj) or reconcile_key(self, ctx, key)"
        )
    return shape


def check_instance(reconciler: object) -> None:
    """Raise ``DeclarationError`` for a class, of which an object is meant."""
    if isinstance(reconciler, type):
        name = reconciler.__name__
        raise DeclarationError(f"pass a reconciler, as {name}(), not the class {name}")


def _check_names(reconciler: object, controller: str) -> None:
    """Refuse ``clean_up``, ``onError`` or ``initialize``, which would never be called."""
    meant = {_spelled(name): name for name in _ARGUMENTS}
    for name, _ in inspect.getmembers_static(type(reconciler), inspect.isroutine):
        wanted = meant.get(_spelled(name), name)
        if name != wanted and not hasattr(reconciler, wanted):
            raise DeclarationError(
                f"controller {controller}: {type(reconciler).__name__}.{name} is never called; "
                f"write {wanted}, or another name if it is yours"
            )


def _spelled(name: str) -> str:
    """Return a name without what spellings differ in; a leading underscore stays."""
    return name[:1] + name[1:].replace("_", "").lower().replace("ize", "ise")


def _tasks_of(reconciler: object) -> Iterator[Callable[..., Any]]:
    for name, member in inspect.getmembers_static(type(reconciler)):
        if hasattr(member, TASK_ATTRIBUTE):
            yield getattr(reconciler, name)


def _method(
    reconciler: object, name: str, arguments: int, controller: str
) -> Callable[..., Any] | None:
    method = getattr(reconciler, name, None)
    if method is None:
        return None
    where = f"controller {controller}: {type(reconciler).__name__}.{name}"
    if not callable(method):
        raise DeclarationError(f"{where} must be a method, not {method!r}")
    if inspect.iscoroutinefunction(method) and name not in _ASYNC:
        raise DeclarationError(
            f"{where} is async, and nothing can wait for it there: write it as an ordinary method; "
            f"{', '.join(_ASYNC)} may be async"
        )
    try:
        inspect.signature(method).bind(*range(arguments))
    except TypeError as error:
        raise DeclarationError(
            f"{where} is called with {arguments} argument{'s' * (arguments > 1)}, "
            f"which it does not take: {error}"
        ) from None
    except ValueError:
        return method  # type: ignore[no-any-return]  # a built-in without a signature
    return method  # type: ignore[no-any-return]
