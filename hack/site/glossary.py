"""The words of the glossary by the page that explains them, which the search finds by each."""

from __future__ import annotations

import os.path
import re
from collections import defaultdict
from functools import cache
from typing import Final

from hack.site.links import DOCS

PAGE: Final = "concepts/glossary.md"
_ROW: Final = re.compile(r"^\| (.+?) \| (.+?) \| .*?\]\(([\w./-]+\.md)[^)]*\) \|$", re.MULTILINE)


def words_of(page: str) -> list[str]:
    """Return the words, English and Chinese, whose meaning a page below ``docs`` explains."""
    return glossary().get(page, [])


@cache
def glossary() -> dict[str, list[str]]:
    """Return the words of the glossary by the page that its rows link to."""
    found: dict[str, list[str]] = defaultdict(list)
    for english, chinese, target in _ROW.findall((DOCS / PAGE).read_text(encoding="utf-8")):
        page = os.path.normpath(os.path.join(os.path.dirname(PAGE), target))
        found[page] += [*english.split(", "), *chinese.split(", ")]
    return found
