"""The conformance tests of cel-spec pass, as far as Kubernetes has what they are about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.testcluster.cel.conformance import VARIABLE, outcomes, table
from tests.testcluster.cel.textproto import Name, parse

PAGE = Path(__file__).parents[3] / "docs/evidence/cel.md"

needs_cel_spec = pytest.mark.skipif(
    VARIABLE not in os.environ,
    reason=f"{VARIABLE} does not name tests/simple/testdata of a copy of google/cel-spec",
)


@needs_cel_spec
def test_what_is_in_scope_passes() -> None:
    failures = [
        f"{outcome.case.file}/{outcome.case.name}: {outcome.case.expression}: {outcome.problem}"
        for outcome in outcomes(Path(os.environ[VARIABLE]))
        if outcome.problem is not None
    ]

    assert not failures, "\n".join(failures)


@needs_cel_spec
def test_the_page_has_the_table() -> None:
    assert table(outcomes(Path(os.environ[VARIABLE]))) in PAGE.read_text(encoding="utf-8")


def test_the_text_format_is_read() -> None:
    message = parse(
        """
        # a comment
        name: "a" 'b\\n\\303\\251'  value { number: -0x1F } value: < flag: true >
        [type.googleapis.com/x.Y] { list: [1.5, inf, NAME], }
        """
    )

    assert message == {
        "name": ["ab\né".encode()],
        "value": [{"number": [-31]}, {"flag": [True]}],
        "[type.googleapis.com/x.Y]": [{"list": [1.5, float("inf"), Name("NAME")]}],
    }
