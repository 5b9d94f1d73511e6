from __future__ import annotations

from pathlib import Path

import pytest

from hack import contract_coverage as coverage


@pytest.fixture(scope="module")
def found() -> dict[str, list[coverage.Test]]:
    return coverage.find_tests(coverage.TESTS)


@pytest.mark.parametrize("contract", coverage.CONTRACTS, ids=lambda contract: contract.rows.stem)
def test_the_document_is_what_the_tests_make_it(
    contract: coverage.Contract, found: dict[str, list[coverage.Test]]
) -> None:
    written = contract.document.read_text(encoding="utf-8")

    assert written == contract.rendered(found), "stale: run make tables"


@pytest.mark.parametrize("contract", coverage.CONTRACTS, ids=lambda contract: contract.rows.stem)
def test_every_row_that_matters_has_a_test_or_is_left_out_for_a_reason(
    contract: coverage.Contract, found: dict[str, list[coverage.Test]]
) -> None:
    unproven = {
        section.title: section.unproven()
        for section in coverage.read_sections(contract.rows, found)
        if section.finished and section.unproven()
    }

    assert unproven == {}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("KEY-01: a name.", ["KEY-01"]),
        ("KEY-01, STO-02 (P-05)", ["KEY-01", "STO-02"]),
        ("WQ-01 to WQ-03.", ["WQ-01", "WQ-02", "WQ-03"]),
        ("RFL-09..11", ["RFL-09", "RFL-10", "RFL-11"]),
        ("from RL-01 to LE-02", ["RL-01", "LE-02"]),
        ("OP-REC-01, BP-02", ["OP-REC-01", "BP-02"]),
        ("OP-REC-01 to OP-REC-03", ["OP-REC-01", "OP-REC-02", "OP-REC-03"]),
        ("WQ-07a, WQ-08", ["WQ-07a", "WQ-08"]),
        ("UTF-8, RFC-3339, HTTP-404", []),
    ],
)
def test_a_text_names_rows_one_by_one_or_as_a_range(text: str, ids: list[str]) -> None:
    assert list(coverage.ids_in(text)) == ids


def test_the_docstring_of_a_class_counts_for_its_tests(tmp_path: Path) -> None:
    tests = tmp_path / "test_queue.py"
    tests.write_text('class TestAdd:\n    "WQ-01."\n    def test_it(self):\n        "WQ-02."\n')

    found = coverage.find_tests(tmp_path)

    assert found == {
        "WQ-01": [coverage.Test("test_queue.py", "test_it")],
        "WQ-02": [coverage.Test("test_queue.py", "test_it")],
    }


def test_sections_that_share_ids_are_told_apart_by_folder(tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text(
        '[a]\ntitle = "A"\nfinished = true\nfolders = ["client"]\n[a.core]\nDYN-01 = "paths"\n'
        '[b]\ntitle = "B"\nfinished = true\nfolders = ["informers"]\n[b.core]\nDYN-01 = "keys"\n'
    )

    client, informers = coverage.read_sections(
        rows, {"DYN-01": [coverage.Test("client/test_x.py", "test_it")]}
    )

    assert client.unproven() == []
    assert informers.unproven() == ["DYN-01"]


def test_a_difference_needs_a_test_and_what_is_left_out_does_not(tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text(
        '[a]\ntitle = "A"\nfinished = true\n'
        '[a.core]\nWQ-01 = "w"\nWQ-02 = "x"\nWQ-03 = "y"\n[a.advanced]\nWQ-04 = "nice"\n'
        '[a.differs]\nWQ-01 = "better"\nWQ-02 = "better"\n[a.left_out]\nWQ-03 = "why not"\n'
    )

    (section,) = coverage.read_sections(rows, {"WQ-01": [coverage.Test("test_x.py", "test_it")]})

    assert section.unproven() == ["WQ-02"]
    assert [row.status for row in section.rows] == ["differs", "missing", "left out", "missing"]
