"""The pages of the documentation, and the code blocks in them.

A comment in the line above a block says how the block is tested::

    <!-- block: source examples/events.py -->     these lines are in that file
    <!-- block: fragment -->                      it is Python, and is not run: it needs a context
    <!-- block: output -->                        what the Python blocks above have printed
    <!-- block: run -->                           these commands run, and print what follows them
    <!-- block: pytest -->                        tests; a test of its own runs them
    <!-- block: not run: REASON -->               commands that are not run here

A Python block without a comment runs: the blocks of a page run from top to bottom in one namespace,
with ``KUBECONFIG`` of a new embedded API server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"

_FENCE: Final = re.compile(r"^( *)(```+)([^`\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
_MARK: Final = re.compile(r"<!-- block: ([^>]*?) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    """The number of the line of its fence."""
    language: str
    mark: str
    """What the comment above it says, else empty."""
    code: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Every page of the site, and the other pages that a reader is sent to."""
    others = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "PACKAGE.md",
        "SECURITY.md",
        "tests/README.md",
        "examples/README.md",
        "examples/cronjob/README.md",
    ]
    return [*(ROOT / name for name in others), *sorted(DOCS.rglob("*.md"))]


@cache
def blocks_of(page: Path) -> tuple[Block, ...]:
    """The blocks of a page, from top to bottom."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        indent, _, info, code = match.groups()
        mark = _MARK.search(text[: match.start()])
        name = info.strip().partition(" ")[0]
        if indent:
            code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        found.append(
            Block(
                page=str(page.relative_to(ROOT)),
                line=text[: match.start()].count("\n") + 1,
                language=name,
                mark=mark[1] if mark else "",
                code=code,
            )
        )
    return tuple(found)


def without_blocks(text: str) -> str:
    """The text of a page, with its code blocks and code spans empty."""
    text = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "``", text)
