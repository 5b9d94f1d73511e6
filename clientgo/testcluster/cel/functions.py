"""Overloads of functions, and how one is selected.

Promises: `resolve` selects overloads by the types of the arguments when an expression is
compiled. `dispatch` selects one by the values, where types are dynamic.

Does not promise: implementations, which are in `library`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clientgo.testcluster.cel.errors import NoSuchOverloadError
from clientgo.testcluster.cel.types import DYN, Bindings, CelType, join, substitute, unify
from clientgo.testcluster.cel.values import type_of

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """An overload of a function; the first parameter of a method is the receiver."""

    name: str
    parameters: tuple[CelType, ...]
    result: CelType
    call: Implementation
    is_method: bool = False

    def takes(self, values: Sequence[Any]) -> bool:
        """Return True if the values are of the types of the parameters."""
        return all(
            parameter.is_variable or parameter is DYN or type_of(value).name == parameter.name
            for parameter, value in zip(self.parameters, values, strict=True)
        )


FunctionTable = Mapping[tuple[str, bool], Sequence[Overload]]
"""The overloads of each function, by its name and True if it is a method."""


def function(
    name: str, parameters: Sequence[CelType], result: CelType, call: Implementation
) -> Overload:
    """Declare ``name(parameters)``."""
    return Overload(name, tuple(parameters), result, call)


def method(
    name: str,
    receiver: CelType,
    parameters: Sequence[CelType],
    result: CelType,
    call: Implementation,
) -> Overload:
    """Declare ``receiver.name(parameters)``; `call` gets the receiver first."""
    return Overload(name, (receiver, *parameters), result, call, is_method=True)


def resolve(
    candidates: Sequence[Overload], arguments: Sequence[CelType]
) -> tuple[list[Overload], CelType | None]:
    """Return the overloads that take `arguments`, and the type of their results."""
    fitting: list[Overload] = []
    result: CelType | None = None
    for overload in candidates:
        bindings: Bindings = {}
        if len(overload.parameters) != len(arguments) or not all(
            unify(parameter, argument, bindings)
            for parameter, argument in zip(overload.parameters, arguments, strict=True)
        ):
            continue
        given = substitute(overload.result, bindings)
        result = given if result is None else join(result, given) or DYN
        fitting.append(overload)
    return fitting, result


def dispatch(overloads: Sequence[Overload], values: Sequence[Any]) -> Any:
    """Call the overload that takes `values`.

    Raises:
        NoSuchOverloadError: no overload takes them.
    """
    for overload in overloads:
        if overload.takes(values):
            return overload.call(*values)
    raise NoSuchOverloadError("no such overload")
