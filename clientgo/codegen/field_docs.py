"""What the source of a class says of its fields: the text in quotes below each.

::

    class FooSpec(Model):
        replicas: int = 1
        \"\"\"How many of it.\"\"\"

Promises the texts where there is source. Does not promise any for classes that have none (made at
run time or typed at a prompt), nor for inherited fields, which their own class describes.

Upstream (controller-tools) reads Go's comments, for the same end: ``kubectl explain``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise


def field_docs(cls: type) -> dict[str, str]:
    """The texts by attribute."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    (definition,) = ast.parse(source).body
    if not isinstance(definition, ast.ClassDef):
        return {}
    return {
        statement.target.id: inspect.cleandoc(following.value.value)
        for statement, following in pairwise(definition.body)
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    }


def class_doc(cls: type) -> str:
    """The class's own docstring; empty if it has none."""
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "")
