"""Access to fields and elements of values.

Promises: the errors of cel-go for what is missing. A member of an absent optional is absent.

Does not promise: static checks, which are in `compiler`.
"""

from __future__ import annotations

from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError, NoSuchOverloadError
from clientgo.testcluster.cel.values import ABSENT, Optional, has_key


def truth(value: Any) -> bool:
    """Return a boolean as it is.

    Raises:
        NoSuchOverloadError: it is not one.
    """
    if isinstance(value, bool):
        return value
    raise NoSuchOverloadError("no such overload")


def member(value: Any, name: str) -> Any:
    """Return ``value.name``.

    Raises:
        CelEvaluationError: there is none, or the value has no fields.
    """
    if not isinstance(value, dict):
        raise NoSuchOverloadError("no such overload")
    try:
        return value[name]
    except KeyError:
        raise CelEvaluationError(f"no such key: {name}") from None


def optional_member(value: Any, name: str) -> Optional:
    """Return ``value.?name``, where the value may be optional itself.

    Raises:
        CelEvaluationError: the value has no fields.
    """
    if isinstance(value, Optional):
        return optional_member(value.value, name) if value.present else ABSENT
    return Optional(value[name]) if has_member(value, name) else ABSENT


def has_member(value: Any, name: str) -> bool:
    """Return ``has(value.name)``.

    Raises:
        CelEvaluationError: the value has no fields.
    """
    if isinstance(value, Optional):
        return value.present and has_member(value.value, name)
    if not isinstance(value, dict):
        raise NoSuchOverloadError("no such overload")
    return name in value


def element(container: Any, key: Any) -> Any:
    """Return ``container[key]``.

    Raises:
        CelEvaluationError: there is none, or the container is neither list nor map.
    """
    if isinstance(container, list):
        if isinstance(key, bool) or not isinstance(key, int | float) or key != int(key):
            raise NoSuchOverloadError("no such overload")
        if not 0 <= key < len(container):
            raise CelEvaluationError(f"index out of bounds: {int(key)}")
        return container[int(key)]
    if isinstance(container, dict):
        if has_key(container, key):
            return container[key]
        raise CelEvaluationError(f"no such key: {key}")
    raise NoSuchOverloadError("no such overload")


def optional_element(container: Any, key: Any) -> Optional:
    """Return ``container[?key]``, where the container may be optional itself.

    Raises:
        NoSuchOverloadError: the container is neither list nor map.
    """
    if isinstance(container, Optional):
        return optional_element(container.value, key) if container.present else ABSENT
    try:
        return Optional(element(container, key))
    except NoSuchOverloadError:
        raise
    except CelEvaluationError:
        return ABSENT
