"""Links of the documentation: where they lead in the repository, and where in the site.

A link to a file outside ``docs`` leads to a page of the site that shows the file. An anchor names a
line, ``#L12``, or what the file defines, ``#Reflector.run``.
"""

from __future__ import annotations

import ast
import os.path
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"

LINK: Final = re.compile(
    r"(?P<before>\]\(|(?:xlink:)?href=\")(?P<target>[^)\s#\"]*)(?:#(?P<anchor>[^)\s\"]*))?(?P<after>\)|\")"
)
"""A link in Markdown, or in HTML or SVG inside of Markdown."""

_NAMED_LINK: Final = re.compile(r"\[((?:[^\[\]]|\[\w*\])*)\]\((?P<target>[^)\s#]*)[^)\s]*\)")
"""A link in Markdown with its text."""

_CODE: Final = re.compile(r"^( *)(```+).*?^\1\2 *$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def line_of(text: str, anchor: str) -> int | None:
    """Return the line that an anchor of a Python file names, or None if there is none."""
    if number := re.fullmatch(r"L(\d+)", anchor):
        return int(number[1]) if int(number[1]) <= text.count("\n") + 1 else None
    nodes: list[ast.stmt] = ast.parse(text).body
    line = None
    for name in anchor.split("."):
        for node in nodes:
            if _name(node) == name:
                line, nodes = node.lineno, getattr(node, "body", [])
                break
        else:
            return None
    return line


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        return getattr(node.targets[0], "id", "")
    if isinstance(node, ast.AnnAssign):
        return getattr(node.target, "id", "")
    return getattr(node, "name", "")


def page_of(path: str) -> str:
    """Return the page that shows a file or folder: a path below ``docs``."""
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"source/{path}/index.md"
    return f"source/{path}.md"


def linked(text: str, path: str) -> set[str]:
    """Return the files and folders outside ``docs`` that a page of the repository links to."""
    targets = set()
    for match in LINK.finditer(_CODE.sub("", text)):
        target = target_of(match, path)
        if target and not _is_in_docs(target):
            targets.add(target)
    return targets


def target_of(match: re.Match[str], path: str) -> str | None:
    """Return the file of the repository that a link leads to, or None for another link."""
    target = match["target"]
    if not target or re.match(r"[a-z]+:", target):
        return None
    file = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return file if (ROOT / file).exists() and not file.startswith("..") else None


def _is_in_docs(target: str) -> bool:
    return target.startswith("docs/") and (ROOT / target).is_file()


def for_the_site(text: str, path: str, page: str = "") -> str:
    """Return the text of a file of the repository with the links that it needs in the site.

    ``page`` is where it is shown, if that is not the page of the file.
    """
    page = page or page_of(path)

    def rewritten(match: re.Match[str]) -> str:
        target = target_of(match, path)
        is_markdown = match["before"] == "]("
        if target is None or (is_markdown and f"docs/{page}" == path and _is_in_docs(target)):
            return match[0]
        to = page_of(target) if not _is_in_docs(target) or target.endswith(".md") else target[5:]
        anchor = match["anchor"] or ""
        if anchor and target.endswith(".py"):
            anchor = f"line-source-{line_of((ROOT / target).read_text(), anchor)}"
        if not is_markdown:
            to = _address(to)
            relative = os.path.relpath(to, _address(page)) + (
                "/" if not to.endswith(".html") else ""
            )
        else:
            relative = os.path.relpath(to, os.path.dirname(page))
        return f"{match['before']}{relative}{'#' if anchor else ''}{anchor}{match['after']}"

    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [LINK.sub(rewritten, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(rewritten, text[end:])])


def without_sources(text: str, path: str) -> str:
    """Return the text of a page without links to files outside ``docs``: their names stay."""

    def shown(match: re.Match[str]) -> str:
        target = target_of(match, path)
        return match[0] if target is None or _is_in_docs(target) else match[1]

    return _NAMED_LINK.sub(shown, text)


def _address(page: str) -> str:
    """The directory in the site of a page."""
    page = page.removesuffix(".md")
    return page.removesuffix("index").rstrip("/") or "."
