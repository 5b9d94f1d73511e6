"""What the walk-through shows is what the sample says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/sample-controller.md").read_text()
SOURCES = [path.read_text() for path in (ROOT / "sample_controller").glob("*.py")]


@pytest.mark.parametrize("shown", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_an_excerpt_is_from_the_sample(shown: str) -> None:
    assert any(shown in source for source in SOURCES)


def test_what_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
