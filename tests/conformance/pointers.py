"""JSON pointers as scenarios write them: RFC 6901, plus ``*`` and ``[key=value]``.

``*`` stands for every member; ``[key=value]`` finds a list item, a nested key being written with an
escaped slash: ``[metadata~1name=a]``.
"""

from __future__ import annotations

from typing import Any

Json = Any
"""Any decoded JSON value."""


class PointerError(ValueError):
    """A pointer in a scenario is malformed."""


MISSING = object()


def _segments(pointer: str) -> list[str]:
    """Split a pointer into unescaped segments; the empty pointer is the document."""
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise PointerError(f"JSON pointer must start with '/': {pointer!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def _index(container: list[Json], segment: str) -> int | None:
    """Position that ``segment`` designates in a list, or None."""
    if segment.startswith("[") and segment.endswith("]"):
        key, _, wanted = segment[1:-1].partition("=")
        for position, item in enumerate(container):
            for part in key.split("/"):
                item = item.get(part) if isinstance(item, dict) else None
            if str(item) == wanted:
                return position
        return None
    try:
        position = int(segment)
    except ValueError:
        return None
    return position if -len(container) <= position < len(container) else None


def pointer_get(document: Json, pointer: str) -> Json:
    """Value at ``pointer``, or the ``MISSING`` sentinel."""
    current = document
    for segment in _segments(pointer):
        if isinstance(current, dict):
            current = current.get(segment, MISSING)
        elif isinstance(current, list):
            position = _index(current, segment)
            current = MISSING if position is None else current[position]
        else:
            return MISSING
        if current is MISSING:
            return MISSING
    return current


def pointer_find(document: Json, pointer: str) -> list[tuple[Any, Any]]:
    """Every place that ``pointer`` designates, as (container, key or position) pairs."""
    places: list[tuple[Any, Any]] = [([document], 0)]
    for segment in _segments(pointer):
        found: list[tuple[Any, Any]] = []
        for container, key in places:
            node = container[key]
            if isinstance(node, dict):
                found += [
                    (node, name)
                    for name in (list(node) if segment == "*" else [segment])
                    if name in node
                ]
            elif isinstance(node, list):
                position = _index(node, segment)
                found += [
                    (node, each)
                    for each in (
                        range(len(node))
                        if segment == "*"
                        else [position]
                        if position is not None
                        else []
                    )
                ]
        places = found
    return places


def pointer_delete(document: Json, pointer: str) -> None:
    """Remove what ``pointer`` designates, in place; absent targets are fine."""
    if pointer == "":
        raise PointerError("cannot remove a whole document; use ignore_body")
    for container, key in reversed(pointer_find(document, pointer)):
        del container[key]
