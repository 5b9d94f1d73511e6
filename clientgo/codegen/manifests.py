"""The text of manifests: YAML as people write it.

Promises the order of the members as given, lists that are indented, text of several lines as such,
and the same text for the same documents.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import yaml

Manifest: TypeAlias = dict[str, Any]
"""An object as JSON values, to be written as YAML or applied."""


def manifest_text(documents: Iterable[Mapping[str, Any]], comment: str = "") -> str:
    """The documents as one file, with a comment at its head."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in _lines(comment))
    return head + "---\n".join(
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
        for document in documents
    )


def _lines(comment: str) -> Iterable[str]:
    for line in comment.splitlines():
        yield from textwrap.wrap(line, 98) or [""]


_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029]")
"""Line breaks that YAML would read back as others, unless they are escaped."""


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists inside of mappings, which PyYAML asks not to."""
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values in full: readers do not expect YAML anchors."""
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    lines = "|" if "\n" in text else None
    style = '"' if _ODD_BREAKS.search(text) else lines
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
