"""The functions and types that an expression can use.

Promises: `standard_library` has what the API server of 1.36 has in validation rules and admission
policies.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.testcluster.cel.functions import FunctionTable, Overload
from clientgo.testcluster.cel.library import (
    authorizers,
    conversions,
    formats,
    lists,
    network,
    operators,
    optionals,
    quantities,
    semver,
    strings,
    times,
    urls,
)
from clientgo.testcluster.cel.library.checks import CHECKS, Check, CheckedCall
from clientgo.testcluster.cel.types import NAMED_TYPES, CelType

__all__ = ["CheckedCall", "Library", "standard_library"]

_LIBRARIES = (
    operators,
    conversions,
    strings,
    lists,
    times,
    optionals,
    quantities,
    urls,
    network,
    formats,
    semver,
    authorizers,
)


@dataclass(frozen=True, slots=True)
class Library:
    """The functions, types and checks of expressions."""

    functions: FunctionTable
    types: Mapping[str, CelType]
    """The types that an expression can name."""
    checks: Mapping[str, Check]
    """Checks of literal arguments, by the name of the function or method."""


@functools.cache
def standard_library() -> Library:
    """Return the library of Kubernetes."""
    table: defaultdict[tuple[str, bool], list[Overload]] = defaultdict(list)
    for library in _LIBRARIES:
        for overload in library.OVERLOADS:
            table[overload.name, overload.is_method].append(overload)
    named = {kind.name: kind for kind in (network.IP, network.CIDR)}
    return Library(dict(table), {**NAMED_TYPES, **named}, CHECKS)
