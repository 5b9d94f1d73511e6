"""The examples on the operator layer, run as the page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def demonstrated(example: str) -> list[str]:
    """The lines that an example's demonstration prints until it ends well."""
    command = [sys.executable, "-m", f"examples.{example}", "--demo"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("example", "lines"),
    [
        (
            "webpage",
            [
                "the page is served by two pods",
                "a new text makes new pods",
                "without the page nothing is left of it",
            ],
        ),
        (
            "webpage_dependents",
            [
                "the page is served by two pods",
                "a new text makes new pods",
                "without the page nothing is left of it",
            ],
        ),
        (
            "secret_routes",
            [
                "three routes use the first certificate",
                "one change of the Secret, and all of them use the second",
            ],
        ),
        (
            "namespaces",
            [
                "the visitor in red is greeted",
                "the one in blue is not",
                "blue was added, and its visitor is greeted",
            ],
        ),
        (
            "schema_poller",
            [
                "the schema is there",
                "somebody drops it behind the operator's back",
                "and it is there again",
                "another operator takes over where the first one ended",
                "the object is gone",
                "and so is the schema",
            ],
        ),
    ],
)
def test_an_example_shows_what_it_is_about(example: str, lines: list[str]) -> None:
    """BP-23, OP-HND-05, OP-NS-05, OP-SRC-11: one secondary wakes many primaries; namespaces change
    at run time; what has no watch is asked after."""
    assert demonstrated(example) == lines


def test_the_page_shows_the_reconciler_as_it_is() -> None:
    page = (ROOT / "docs" / "operator.md").read_text()
    example = ROOT / "examples" / "foo_operator" / "reconciler.py"

    assert f"```python\n{example.read_text()}```" in page
    assert len(example.read_text().splitlines()) < 80


def test_every_example_is_listed() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    parts = {path.stem for path in (ROOT / "examples").glob("*.py")} | {"cronjob", "foo_operator"}

    assert [name for name in sorted(parts - {"embedded"}) if name not in page] == []
