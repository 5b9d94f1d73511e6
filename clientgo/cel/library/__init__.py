"""The functions that an expression may call: CEL's own and those of Kubernetes.

Promises: `standard_functions` has what the API server of 1.36 offers in validation rules.

Does not promise: the authorizer, which needs a server that authorises.
"""

from __future__ import annotations

import functools
from collections import defaultdict

from clientgo.cel.functions import FunctionTable, Overload
from clientgo.cel.library import (
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
)


@functools.cache
def standard_functions() -> FunctionTable:
    """Return all functions, by name and whether they are methods."""
    table: defaultdict[tuple[str, bool], list[Overload]] = defaultdict(list)
    for library in _LIBRARIES:
        for overload in library.OVERLOADS:
            table[overload.name, overload.is_method].append(overload)
    return dict(table)
