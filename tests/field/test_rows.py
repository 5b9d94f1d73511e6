"""Every row of the field has a test, and its place in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from tests.field.scenarios import all_scenarios

HERE = Path(__file__).parent
DOCUMENTATION = (HERE.parents[1] / "docs/evidence/field-cases.md").read_text()
ROWS = set(re.findall(r"^\| (FIELD-\d\d) \|", DOCUMENTATION, re.MULTILINE))


def test_every_row_of_the_documentation_is_tested_and_no_other():
    in_tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    in_docstrings = set(re.findall(r'"""(FIELD-\d\d)[:.]', in_tests))

    assert {each.row for each in all_scenarios()} | in_docstrings == ROWS


def test_no_number_is_left_out():
    assert {f"FIELD-{number:02}" for number in range(1, len(ROWS) + 1)} == ROWS


def test_every_scenario_is_in_the_documentation():
    claims = {f"| {each.row} | {each.claim} |" for each in all_scenarios()}

    assert {claim for claim in claims if claim not in DOCUMENTATION} == set()
