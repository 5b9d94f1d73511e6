"""An extension of griffe: docstrings with the roles of Sphinx, as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|exc|data|const):`~?([^`<]*?)`")
_LITERAL = re.compile(r"(?:^|(:)):\n(?=\n +\S)", re.MULTILINE)
_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Roles(griffe.Extension):
    """Shows ``:class:`Name``` as code, and sessions as blocks."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = _ROLE.sub(lambda role: f"`{role[1].lstrip('.')}`", obj.docstring.value)
            text = _LITERAL.sub(r"\1\n", text)
            obj.docstring.value = _SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", text)
