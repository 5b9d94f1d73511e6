"""What MkDocs does besides its plugins: what the search finds first, and copies of source files.

A file that a page links to has a page that shows it, because there is no other address for it. The
evidence, which names most tests, has their names without links.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from clientgo.tools.study.page import exported
from clientgo.tools.study.recording import load_recording
from hack.site import lessons
from hack.site.glossary import words_of
from hack.site.links import DOCS, ROOT, for_the_site, linked, page_of, without_sources
from hack.study_recording import RECORDING

_PICTURE = re.compile(r"<p><img [^>]*assets/([\w/-]+)\.svg[^>]*></p>")
_BOOSTS = {"concepts/": 4.0, "reference/": 0.25}
"""What the search finds first: a concept, and the reference of its names last."""
EVIDENCE = "evidence/"
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".json": "json", ".sh": "sh"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages that the navigation does not name at its end, so that no page is lost."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    rest = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    if rest := [page for page in rest if page not in named and not page.startswith(EVIDENCE)]:
        config.nav = [*(config.nav or []), {"More": rest}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file and folder outside ``docs`` that a page links to."""
    waiting = set()
    for page in (*DOCS.rglob("*.md"), *DOCS.rglob("*.svg")):
        if not page.is_relative_to(DOCS / EVIDENCE):
            waiting |= linked(page.read_text(), str(page.relative_to(ROOT)))
    done: set[str] = set()
    while waiting - done:
        path = min(waiting - done)
        done.add(path)
        text = _page(path)
        if path.endswith(".md"):
            waiting |= linked((ROOT / path).read_text(), path)
        files.append(
            File.generated(config, page_of(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV)
        )
    for file in lessons.lesson_files(config):
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Say how the search ranks a page, and turn links to source files into links to their pages."""
    uri = page.file.src_uri
    if words := words_of(uri):
        page.meta["tags"] = words
    for folder, boost in _BOOSTS.items():
        if uri.startswith(folder):
            page.meta["search"] = {"boost": boost}
    if uri.startswith(EVIDENCE):
        page.meta["search"] = {"exclude": True}
        return without_sources(markdown, f"docs/{uri}")
    markdown = lessons.with_lessons(markdown, uri)
    if uri.startswith("source/"):
        path = uri.removeprefix("source/").removesuffix(".md")
        return for_the_site(markdown, path) if path.endswith(".md") else markdown
    return for_the_site(markdown, f"docs/{uri}")


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Put pictures into the page, so that their links work and they have its colours."""
    return _PICTURE.sub(lambda match: _inlined(match[1], page.file.src_uri), html)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the page of ``clientgo study``, and remove what no page of the site loads."""
    recording = load_recording(RECORDING)
    page = Path(config.site_dir) / "assets/study.html"
    page.write_text(exported(recording, "a recording"), encoding="utf-8")
    for unused in (
        "**/*.min.*.map",
        "javascripts/lunr/**/*.js",
    ):  # the second is for other languages
        for file in (Path(config.site_dir) / "assets").glob(unused):
            file.unlink()


def _inlined(name: str, uri: str) -> str:
    path = f"docs/assets/{name}.svg"
    return for_the_site((ROOT / path).read_text().rstrip(), path, uri)


def _page(path: str) -> str:
    """The page that shows a file or folder."""
    title = os.path.basename(path)
    head = f"---\ntitle: {title}\ntemplate: source.html\nsearch:\n  exclude: true\n---\n"
    file = ROOT / path
    if file.is_dir():
        names = sorted(
            each.name for each in file.iterdir() if not each.name.startswith((".", "__py"))
        )
        return f"{head}# `{path}/`\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = file.read_text()
    if path.endswith(".md"):
        return head + text
    language = _LANGUAGES.get(file.suffix, "text")
    fence = "`" * 4
    opening = f"{fence}{{ .{language} #source }}"
    return f"{head}# `{path}`\n\n{opening}\n{text.rstrip()}\n{fence}\n"
