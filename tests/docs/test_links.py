"""Links inside the documentation lead somewhere, and every page is in the navigation."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.site.links import LINK, line_of
from tests.docs.pages import DOCS, ROOT, pages, without_blocks


class _Loader(yaml.SafeLoader):
    """Reads the configuration without the objects that its tags name."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
_Loader.add_constructor("!ENV", lambda *_: None)
CONFIG: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)


@cache
def _anchors(page: Path) -> frozenset[str]:
    text = page.read_text()
    found = set(re.findall(r'(?:id|name)="([^"]+)"|\{ *#([\w-]+) *\}', text))
    named = {name for pair in found for name in pair if name}
    return frozenset(named | {_slug(title) for title in _titles(text)})


def _titles(text: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)


def _slug(title: str) -> str:
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def _is_there(file: Path, anchor: str | None) -> bool:
    if not file.exists() or not file.is_relative_to(ROOT):
        return False
    if anchor and file.suffix == ".py":
        return line_of(file.read_text(), anchor) is not None
    return not anchor or file.suffix != ".md" or anchor in _anchors(file)


@pytest.mark.parametrize(
    "page", [*pages(), *DOCS.rglob("*.svg")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_internal_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    text = without_blocks(page.read_text())
    for match in LINK.finditer(text):
        target, anchor = match["target"], match["anchor"]
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        if not _is_there(file, anchor):
            broken.append(match[0])
    assert broken == []


def _in_navigation(entries: Any) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [name for entry in values for name in _in_navigation(entry)]


def test_the_navigation_has_every_page_once() -> None:
    """A new page may begin beside the folders; it is listed under "More". Evidence is left out."""
    named = _in_navigation(CONFIG["nav"])
    existing = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}

    assert len(named) == len(set(named))
    assert set(named) <= existing
    left_out = {page for page in existing - set(named) if "/" in page}
    assert {page for page in left_out if not page.startswith("evidence/")} == set()


def test_every_page_begins_with_one_title() -> None:
    for page in DOCS.rglob("*.md"):
        titles = re.findall(r"^# .*", without_blocks(page.read_text()), re.MULTILINE)
        assert len(titles) == 1, page


def test_nothing_is_loaded_from_elsewhere() -> None:
    """The site works without a network: no fonts, scripts or images of other servers."""
    assert CONFIG["theme"]["font"] is False
    assert not [each for each in CONFIG.get("extra_javascript", []) if "://" in str(each)]
    for page in DOCS.rglob("*.md"):
        assert not re.search(r"!\[[^\]]*\]\(http|<img[^>]+http", page.read_text()), page
