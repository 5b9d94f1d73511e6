"""Folders stay small enough to find a file in."""

from __future__ import annotations

from pathlib import Path

import clientgo

MOST_FILES = 15
"""Python files beside the folders of a package, without ``__init__`` and ``__main__``."""

GENERATED = {"api"}
"""One file for each API group and version."""


def test_no_folder_has_more_files_than_a_reader_can_survey() -> None:
    library = Path(clientgo.__file__).parent
    folders = {file.parent for file in library.rglob("*.py")}
    counts = {
        str(folder.relative_to(library)): len(
            [file for file in folder.glob("*.py") if not file.name.startswith("__")]
        )
        for folder in folders
        if folder.name not in GENERATED
    }

    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}
