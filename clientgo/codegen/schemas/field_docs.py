"""What the source of a class says of its fields: the text in quotes below each.

::

    class FooSpec(Model):
        replicas: int = 1
        \"\"\"How many of it.\"\"\"

Promises the texts where there is source. Does not promise any for classes that have none (made at
run time or typed at a prompt).

Upstream (controller-tools) reads Go's comments, for the same end: ``kubectl explain``.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct


def field_docs(cls: type) -> Mapping[str, str]:
    """The texts by attribute."""
    try:
        source = inspect.getsource(sys.modules[cls.__module__])
    except (KeyError, OSError, TypeError):
        return {}
    return _docs_in(source).get(cls.__qualname__, {})


def inherited_field_docs(cls: type[Struct]) -> dict[str, str]:
    """The texts by attribute, those that base classes have included."""
    bases = [base for base in reversed(cls.__mro__) if issubclass(base, Struct)]
    return {name: text for base in bases for name, text in field_docs(base).items()}


def class_doc(cls: type) -> str:
    """The class's own docstring; empty if it has none."""
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "")


@functools.lru_cache(maxsize=16)
def _docs_in(source: str) -> Mapping[str, Mapping[str, str]]:
    """The texts of the fields of every class in a module."""
    return {
        name: {
            statement.target.id: inspect.cleandoc(following.value.value)
            for statement, following in pairwise(definition.body)
            if isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        }
        for name, definition in _classes(ast.parse(source), "")
    }


def _classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef():
                yield prefix + child.name, child
                yield from _classes(child, f"{prefix}{child.name}.")
            case ast.FunctionDef():
                yield from _classes(child, f"{prefix}{child.name}.<locals>.")
            case _:
                yield from _classes(child, prefix)
