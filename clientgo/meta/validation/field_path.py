"""Paths of fields: ``spec.ports[0].name``, ``metadata.labels[app]``.

Promises: a path is a string, and the root is the empty string. A cause about the root shows
``<nil>``, as on a server.

Does not promise: that a path can be parsed. A key can contain dots and brackets.

``field.Path`` upstream is a linked list. A string is faster in Python.
"""

from __future__ import annotations

ROOT = ""


def child(path: str, *names: str) -> str:
    """Return the path of the field `names` below `path`."""
    suffix = ".".join(names)
    return f"{path}.{suffix}" if path else suffix


def index(path: str, position: int) -> str:
    """Return the path of the list item at `position`."""
    return f"{path}[{position}]"


def key(path: str, name: str) -> str:
    """Return the path of the entry `name` of a map (as opposed to a named field)."""
    return f"{path}[{name}]"


def display(path: str) -> str:
    """Return the path as causes show it: the root is ``<nil>``."""
    return path or "<nil>"
