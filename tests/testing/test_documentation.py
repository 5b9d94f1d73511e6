"""The examples in ``docs/testing.md`` run, and their assertions hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "testing.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda code: code.partition("\n")[0])
def test_an_example_does_what_it_says(example: str) -> None:
    exec(compile(example, str(DOCUMENT), "exec"), {"__name__": "example"})


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4
