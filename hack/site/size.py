"""Print how much there is to read: ``python -m hack.site.size``, after ``make docs``.

Words are those of the pages in the navigation, without code blocks and comments.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from hack.site.links import DOCS, ROOT

_FENCE: Final = re.compile(r"^( *)(```+)[^`\n]*\n.*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def main() -> None:
    named = re.findall(r"^ +- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    words: Counter[str] = Counter()
    for page in named:
        text = _COMMENT.sub("", _FENCE.sub("", (DOCS / page).read_text(encoding="utf-8")))
        words[page.rpartition("/")[0]] += len(text.split())
    for folder, count in words.most_common():
        print(f"{count:7,}  {folder or '.'}")
    print(f"{words.total():7,}  words on {len(named)} pages of the navigation")
    files = [file for file in (ROOT / "site").rglob("*") if file.is_file()]
    html = sum(file.suffix == ".html" for file in files)
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{size:7.1f}  MB in {html} HTML files and {len(files) - html} others")


if __name__ == "__main__":
    main()
