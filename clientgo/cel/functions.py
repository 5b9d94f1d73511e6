"""Functions of CEL: their overloads, and how one is chosen.

Promises: an `Overload` says what types a function takes and gives; `resolve` finds those that fit
while compiling, `dispatch` picks one by the values while running, where types were dynamic.

Does not promise: implementations; these are in `library`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clientgo.cel.errors import NoSuchOverloadError
from clientgo.cel.types import DYN, Bindings, CelType, join, substitute, unify
from clientgo.cel.values import type_of

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """One variant of a function; of a method, the first parameter is the receiver."""

    name: str
    parameters: tuple[CelType, ...]
    result: CelType
    call: Implementation
    is_method: bool = False

    def takes(self, values: Sequence[Any]) -> bool:
        """Tell whether the values are of the types of the parameters."""
        return all(
            parameter.is_variable or parameter is DYN or type_of(value).name == parameter.name
            for parameter, value in zip(self.parameters, values, strict=True)
        )


FunctionTable = Mapping[tuple[str, bool], Sequence[Overload]]
"""The overloads of a function by its name and whether it is a method."""


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
        NoSuchOverloadError: there is none.
    """
    for overload in overloads:
        if overload.takes(values):
            return overload.call(*values)
    raise NoSuchOverloadError("no such overload")
