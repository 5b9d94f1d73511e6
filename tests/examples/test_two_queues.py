"""The comparison of the two queues: the documentation shows what the example prints."""

from __future__ import annotations

from tests.examples.running import ROOT, printed_by


def test_the_page_shows_what_the_example_prints() -> None:
    printed = "\n".join(printed_by("two_queues.py"))

    assert f"```text\n{printed}\n```" in (ROOT / "docs" / "concepts" / "delta-fifo.md").read_text()
