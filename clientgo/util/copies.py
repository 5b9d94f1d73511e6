"""What happens when an object is copied or pickled.

Promises: an error keeps its text, attributes, notes and cause through `copy` and `pickle`, whatever
its constructor takes; an exception that it holds and that cannot be pickled becomes a
:class:`ForeignError` with its text. An object with threads, locks or connections refuses with
the reason. Without this a `multiprocessing.Pool` waits for ever for an error that cannot be made
again, and a copied informer shares its locks with the original.

Does not promise the traceback, nor the context of an error without a cause, as in Python itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any, Final, NoReturn, TypeVar

C = TypeVar("C", bound=type)


class CopyableError(Exception):
    """Base of the library's errors: one with a constructor of its own can be pickled too."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), _State(_state_of(self)))


class ForeignError(Exception):
    """Stands for an exception that cannot be pickled; its text has the type and the message."""


def uncopyable(reason: str) -> Callable[[C], C]:
    """Refuse to copy or pickle the objects of a class: ``TypeError`` with this reason."""

    def refuse(self: object, *_: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {reason}")

    return _setting(__reduce_ex__=refuse, __copy__=refuse, __deepcopy__=refuse)


def unpicklable(reason: str) -> Callable[[C], C]:
    """Refuse to pickle the objects of a class, which are immutable: a copy is the object itself."""

    def refuse(self: object, _: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: {reason}")

    def same(self: object, *_: object) -> object:
        return self

    return _setting(__reduce_ex__=refuse, __copy__=same, __deepcopy__=same)


def _setting(**methods: Callable[..., object]) -> Callable[[C], C]:
    def decorate(cls: C) -> C:
        for name, method in methods.items():
            type.__setattr__(cls, name, method)
        return cls

    return decorate


class _State:
    """What an error holds; says how exceptions among it are copied."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __deepcopy__(self, memo: dict[int, Any]) -> _State:
        for error in _exceptions_in(self.values):
            memo[id(error)] = error  # others' constructors may refuse, and nothing changes them
        return _State(copy.deepcopy(self.values, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _State, (_portable(self.values),)


def _state_of(error: BaseException) -> dict[str, Any]:
    """All that can be set again: also what is not in the ``__dict__``, as ``SystemExit.code``."""
    members = {
        name: held
        for base in type(error).__mro__
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
        # A file name that is None would be shown.
        and (held := getattr(error, name, None)) is not None
    }
    return {**members, **vars(error), "args": error.args, "__cause__": error.__cause__}


def _remade(cls: type[BaseException], state: _State) -> BaseException:
    error = cls.__new__(cls)
    suppressed = state.values["__suppress_context__"]
    for name, value in state.values.items():
        setattr(error, name, value)
    error.__suppress_context__ = suppressed  # setting the cause sets it
    return error


_CONTAINERS: Final = (list, tuple, set, frozenset)


def _exceptions_in(value: Any) -> list[BaseException]:
    if isinstance(value, BaseException):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, _CONTAINERS):
        return [error for item in value for error in _exceptions_in(item)]
    return []


def _portable(value: Any) -> Any:
    """A value with each exception in it that cannot be pickled replaced."""
    if isinstance(value, BaseException):
        return value if _survives(value) else ForeignError(f"{type(value).__name__}: {value}")
    if type(value) is dict:
        return {key: _portable(item) for key, item in value.items()}
    if type(value) in _CONTAINERS:
        return type(value)(map(_portable, value))
    return value


def _survives(error: BaseException) -> bool:
    """Return True if an exception can be made again from its pickle."""
    import pickle  # slow to import, and loaded already where this is called

    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))
    except Exception:  # noqa: BLE001 - whatever another library's reduction raises
        return False
