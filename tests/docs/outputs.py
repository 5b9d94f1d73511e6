"""Write what the code of a page prints into its ``output`` blocks.

``python -m tests.docs.outputs docs/concepts/workqueue.md`` after a change of the page's code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.running import run_page


def main() -> None:
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        outputs = run_page(page)
        lines = page.read_text().splitlines(keepends=True)
        for block, printed in reversed(outputs):
            count = block.code.count("\n")
            lines[block.line : block.line + count] = [printed.rstrip("\n") + "\n"]
        page.write_text("".join(lines))


if __name__ == "__main__":
    main()
