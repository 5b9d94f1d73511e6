"""The text of manifests: YAML as people write it.

Promises the order of the members as given, lists that are indented, text of several lines as such,
and the same text for the same documents.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from clientgo.util.text.yaml_writer import yaml_text

Manifest: TypeAlias = dict[str, Any]
"""An object as JSON values, to be written as YAML or applied."""


def manifest_text(documents: Iterable[Mapping[str, Any]], comment: str = "") -> str:
    """The documents as one file, with a comment at its head."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in _lines(comment))
    return head + "---\n".join(yaml_text(document) for document in documents)


def _lines(comment: str) -> Iterable[str]:
    for line in comment.splitlines():
        yield from textwrap.wrap(line, 98) or [""]
