#!/usr/bin/env python3
"""Write docs/evidence: every row of the two behaviour contracts, and the tests that name it.

A test names a row in its docstring (``WQ-01``, or several: ``WQ-01 to WQ-14``); the docstrings of
its class and file count for all tests in them. What a row asks, and why ours may differ from it or
leave it out, is in contract.toml and operator-contract.toml there. tests/test_contract_coverage.py
fails when a document is not what this would write, or when a row that matters has no test and is
not left out.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"

REQUIRED: Final = ("core", "expected")
LEVELS: Final = (*REQUIRED, "advanced")
_TESTS_SHOWN: Final = 2

_RANGE: Final = re.compile(
    r"(?<![\w-])((?:OP-)?[A-Z]{2,})-(\d\d)([a-z]?)(?:\s*(?:to|\.\.)\s*(?:\1-)?(\d\d))?\b"
)


@dataclass(frozen=True, slots=True)
class Test:
    file: str
    """Below the folder of tests."""
    name: str

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    level: str
    asks: str
    differs: str | None = None
    left_out: str | None = None
    tests: tuple[Test, ...] = ()

    @property
    def status(self) -> str:
        if self.left_out:
            return "left out"
        if not self.tests:
            return "missing"
        return "differs" if self.differs else "done"


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    finished: bool
    rows: list[Row] = field(default_factory=list)

    def unproven(self) -> list[str]:
        """Rows that matter, have no test and are not left out for a reason."""
        return [row.id for row in self.rows if row.level in REQUIRED and row.status == "missing"]


def ids_in(text: str) -> Iterator[str]:
    """Every row that a text names, ranges written out."""
    for prefix, first, letter, last in _RANGE.findall(text):
        if letter:  # a row that came between two others
            yield f"{prefix}-{first}{letter}"
            continue
        for number in range(int(first), int(last or first) + 1):
            yield f"{prefix}-{number:02}"


def find_tests(folder: Path) -> dict[str, list[Test]]:
    """The tests that name a row, by its id."""
    found: dict[str, list[Test]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        file = path.relative_to(folder).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, text in _documented_tests(tree, ""):
            for row in dict.fromkeys(ids_in(text)):
                found[row].append(Test(file, name))
    return found


def _documented_tests(node: ast.Module | ast.ClassDef, inherited: str) -> Iterator[tuple[str, str]]:
    text = f"{inherited} {ast.get_docstring(node) or ''}"
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _documented_tests(child, text)
        elif isinstance(child, ast.FunctionDef) and child.name.startswith("test_"):
            yield child.name, f"{text} {ast.get_docstring(child) or ''}"


def read_sections(rows: Path, found: Mapping[str, list[Test]]) -> list[Section]:
    """The contract, each row with its tests."""
    sections = []
    for data in tomllib.loads(rows.read_text(encoding="utf-8")).values():
        section = Section(data["title"], data["finished"])
        folders = data.get("folders")
        differs, left_out = data.get("differs", {}), data.get("left_out", {})
        for level in LEVELS:
            for row, asks in data.get(level, {}).items():
                tests = [
                    test for test in found.get(row, ()) if not folders or test.folder in folders
                ]
                section.rows.append(
                    Row(row, level, asks, differs.get(row), left_out.get(row), tuple(tests))
                )
        section.rows.sort(key=lambda row: row.id)
        sections.append(section)
    return sections


@dataclass(frozen=True, slots=True)
class Contract:
    """Rows, and the document that is written of them, with its first lines."""

    rows: Path
    document: Path
    head: str

    def rendered(self, found: Mapping[str, list[Test]]) -> str:
        return render(read_sections(self.rows, found), self.head)


def render(sections: list[Section], head: str = "") -> str:
    lines = [head, *_summary(sections)]
    for section in sections:
        lines += ["", f"## {section.title}", ""]
        lines += ["| row | level | asks | status |", "|---|---|---|---|"]
        lines += [
            f"| {row.id} | {row.level} | {row.asks} | {_status(row)} |" for row in section.rows
        ]
    return "\n".join(lines) + "\n"


_LEGEND: Final = """\
Written by `make tables` from [{rows}]({rows}) and from the row ids in the tests; do not edit.
*core* rows must hold, *expected* ones would be missed, *advanced* ones are nice to have.
*Differs* means done in another way, on purpose, for the reason given; the tests named
are those of our way.
"""

CONTRACTS: Final = (
    Contract(
        ROOT / "docs/evidence/contract.toml",
        ROOT / "docs/evidence/contract.md",
        """\
# The behaviour contract

What client-go's users rely on, row by row, and where a test holds ours to it; the operator layer
has [a contract of its own](operator-contract.md).

"""
        + _LEGEND.format(rows="contract.toml"),
    ),
    Contract(
        ROOT / "docs/evidence/operator-contract.toml",
        ROOT / "docs/evidence/operator-contract.md",
        """\
# The behaviour contract of the operator layer

What the users of controller-runtime, of Java Operator SDK and of the operator best practices look
for, row by row, and where a test holds ours to it.

"""
        + _LEGEND.format(rows="operator-contract.toml"),
    ),
)


def _summary(sections: list[Section]) -> Iterator[str]:
    yield "Rows done (differing ones included) of all:"
    yield ""
    yield "| section | core | expected | advanced | differing | left out | missing |"
    yield "|---|---|---|---|---|---|---|"
    all_rows = [row for section in sections for row in section.rows]
    for section in [*sections, Section("**all**", finished=True, rows=all_rows)]:
        rows = section.rows
        counts = Counter(row.status for row in rows)
        title = section.title if section.finished else f"{section.title} (unfinished)"
        cells = [title, *(_fraction(rows, level) for level in LEVELS)]
        cells += [str(counts[status]) for status in ("differs", "left out", "missing")]
        yield f"| {' | '.join(cells)} |"


def _fraction(rows: list[Row], level: str) -> str:
    of_level = [row for row in rows if row.level == level]
    done = [row for row in of_level if row.status in ("done", "differs")]
    return f"{len(done)}/{len(of_level)}" if of_level else ""


def _status(row: Row) -> str:
    reason = row.left_out or row.differs
    text = f"**{row.status}**" + (f": {reason}" if reason else "")
    if row.tests:
        # The tests of the row alone say most; the replays of recordings name whole ranges.
        tests = sorted(row.tests, key=lambda test: test.folder == "vectors")
        text += " · " + ", ".join(_link(test) for test in tests[:_TESTS_SHOWN])
        if len(tests) > _TESTS_SHOWN:
            text += " and more"
    return text


def _link(test: Test) -> str:
    return f"[{test.file}](../../tests/{test.file})::{test.name}"


def main() -> None:
    found = find_tests(TESTS)
    for contract in CONTRACTS:
        contract.document.write_text(contract.rendered(found), encoding="utf-8")


if __name__ == "__main__":
    main()
