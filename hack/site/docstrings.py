"""An extension of griffe: docstrings with the roles of Sphinx, as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|exc|data|const):`~?([^`<]*?)`")
_LITERAL = re.compile(r"^(.*?)(:?):\n(?=\n +\S)", re.MULTILINE)
"""A line that ends with ``::``, or is nothing else, before an indented block."""
_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """Return a docstring without its common indentation as the Markdown that the site shows."""
    text = _ROLE.sub(lambda role: f"`{role[1].lstrip('.')}`", docstring)
    text = _LITERAL.sub(lambda line: f"{line[1]}{line[2] if line[1] else ''}\n", text)
    return _SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", text)


class Roles(griffe.Extension):
    """Shows ``:class:`Name``` as code, and sessions as blocks."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
