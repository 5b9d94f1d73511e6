"""What MkDocs does besides its plugins: pages for the source files that the documentation names."""

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
from hack.site.links import DOCS, ROOT, for_the_site, linked, page_of

_PICTURE = re.compile(r"<p><img [^>]*assets/([\w/-]+)\.svg[^>]*></p>")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".json": "json", ".sh": "sh"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages that the navigation does not name at its end, so that no page is lost."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    rest = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    if rest := [page for page in rest if page not in named]:
        config.nav = [*(config.nav or []), {"More": rest}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file and folder outside ``docs`` that a page links to."""
    waiting = set()
    for page in (*DOCS.rglob("*.md"), *DOCS.rglob("*.svg")):
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
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links to source files into links to their pages."""
    uri = page.file.src_uri
    if uri.startswith("source/"):
        path = uri.removeprefix("source/").removesuffix(".md")
        return for_the_site(markdown, path) if path.endswith(".md") else markdown
    return for_the_site(markdown, f"docs/{uri}")


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Put pictures into the page, so that their links work and they have its colours."""
    return _PICTURE.sub(lambda match: _inlined(match[1], page.file.src_uri), html)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the page of ``clientgo study`` that shows the recording."""
    recording = load_recording(DOCS / "assets/study.jsonl")
    page = Path(config.site_dir) / "assets/study.html"
    page.write_text(exported(recording, "a recording"), encoding="utf-8")


def _inlined(name: str, uri: str) -> str:
    path = f"docs/assets/{name}.svg"
    return for_the_site((ROOT / path).read_text().rstrip(), path, uri)


def _page(path: str) -> str:
    """The page that shows a file or folder."""
    head = f"---\ntitle: {os.path.basename(path)}\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n"
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
    opening = f'{fence}{{ .{language} linenums="1" #source }}'
    return f"{head}# `{path}`\n\n{opening}\n{text.rstrip()}\n{fence}\n"
