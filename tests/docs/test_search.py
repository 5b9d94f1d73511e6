"""The search of the site finds a concept by its words, English and Chinese, before the API."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from hack.site import hooks
from hack.site.glossary import PAGE, glossary
from tests.docs.pages import DOCS


def _meta(uri: str) -> dict[str, Any]:
    """What the build adds to the front matter of a page."""
    page: Any = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri=uri))
    hooks.on_page_markdown((DOCS / uri).read_text(), page)
    return dict(page.meta)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("in-flight, dedup, rate limiter, work queue, back-off, 限速队列, 工作队列", "workqueue"),
        ("tombstone, DeletedFinalStateUnknown, 墓碑", "tombstones"),
        ("410 Gone, list-watch, bookmark", "list-and-watch"),
        ("resync", "resync"),
        ("relist, reflector, 反射器", "reflector"),
        ("DeltaFIFO, 增量队列", "delta-fifo"),
        ("finalizer, 终结器", "finalizers"),
        ("informer, 通知器", "informer"),
        ("Indexer, lister, 索引器", "indexer"),
        ("reconcile, level-triggered, edge-triggered, 调谐, 水平触发, 边缘触发", "level-triggered"),
        ("resourceVersion, 资源版本", "objects"),
        ("leader election, Lease, 领导者选举", "leader-election"),
        ("CRD, custom resource, 自定义资源", "crds"),
        ("controller, 控制器", "index"),
    ],
)
def test_a_concept_is_found_by_its_words(words: str, page: str) -> None:
    """Tags count a million times as much as the text: the page that has the word is the first."""
    tags = _meta(f"concepts/{page}.md")["tags"]

    assert [word for word in words.split(", ") if word not in tags] == []


def test_each_word_leads_to_one_page() -> None:
    words = [word for of_page in glossary().values() for word in of_page]

    assert sorted(words) == sorted(set(words))


def test_every_row_of_the_glossary_counts() -> None:
    rows = re.findall(r"^\| (?!term|--)(.+?) \| (.+?) \|", (DOCS / PAGE).read_text(), re.MULTILINE)
    words = {word for of_page in glossary().values() for word in of_page}

    assert [
        row for row in rows for cell in row for word in cell.split(", ") if word not in words
    ] == []
    assert all(re.search(r"[\u4e00-\u9fff]", chinese) for _, chinese in rows)


def test_concepts_come_before_the_api_and_evidence_is_not_found() -> None:
    concept, api = _meta("concepts/informer.md"), _meta("reference/api/cache.md")

    assert concept["search"]["boost"] > 1 > api["search"]["boost"]
    for page in (DOCS / "evidence").glob("*.md"):
        assert _meta(f"evidence/{page.name}")["search"] == {"exclude": True}
