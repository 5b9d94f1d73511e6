"""Paths to fields in the notation of Kubernetes: ``spec.ports[0].name``, ``metadata.labels[app]``.

Promises: a path is a plain string; the root of an object is the empty string; `child`, `index` and
`key` extend a path. A cause about the root itself shows as ``<nil>``, as on a cluster.

Does not promise: that a path can be taken apart again; a key may contain dots and brackets.

Unlike ``k8s.io/apimachinery/pkg/util/validation/field.Path``, a linked list that is printed at the
end, a path is built as text while descending: that is the cheapest form in Python.
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
