"""Taking the annotations out of a class body that is still being built.

Python 3.14 keeps them behind a function instead of in the namespace (PEP 649); this is the one
place that knows.
"""

from __future__ import annotations

import sys
from typing import Any


def annotations_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a class namespace, unevaluated where they are text."""
    if sys.version_info >= (3, 14):  # pragma: no cover
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return dict(
                annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
            )
    return dict(namespace.get("__annotations__", {}))


def pop_annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    """Remove and return what :func:`annotations_of` returns."""
    found = annotations_of(namespace)
    for name in ("__annotate__", "__annotate_func__", "__annotations__"):
        namespace.pop(name, None)
    return found
