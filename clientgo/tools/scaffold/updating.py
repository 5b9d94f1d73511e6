"""Bring the files of an older project to what ``clientgo operator init`` writes today.

Promises: git merges each file from three texts: as it was written then, as it is now, and as it
would be written today. What both changed in the same place gets the marks of a conflict. Nothing is
committed, and changes that are not committed are refused: ``git diff`` shows the update alone. A
file that was deleted stays deleted.

Does not promise to change kinds, reconcilers, webhooks and their tests: they are the project's own.

What was written then is in ``.scaffold.json``; a project that is older than this file has it in the
commits that added its files. Source: kubebuilder's ``alpha update``.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from clientgo.meta.decoding import decode
from clientgo.operator.errors import ConfigError, OperatorError
from clientgo.tools.scaffold.new_files import RECORD, project_files, record_of
from clientgo.tools.scaffold.project import Project

_MOST_CONFLICTS: Final = 127
"""The highest exit status of ``git merge-file`` that counts conflicts; others are errors."""
_TIMEOUT: Final = 60.0
"""Seconds for one command of git."""


class GitError(OperatorError):
    """git cannot do what an update needs."""


@dataclass(frozen=True, slots=True)
class Update:
    """What was done, a line for each file, and the files that have conflicts."""

    lines: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


def update_project(project: Project) -> Update:
    """Merge today's files into a project.

    Raises :class:`GitError`, and ``ConfigError`` for a project that ``init`` has not written.
    """
    root = project.root
    _require_clean(root)
    todays = project_files(project.name, project.package, project.domain)
    before = _written_before(root, todays)
    update = Update()
    for name, wanted in todays.items():
        file, base = root / name, before.get(name)
        text = file.read_text(encoding="utf-8") if file.exists() else None
        if text is None and base is None:
            _write(file, wanted)
            update.lines.append(f"wrote {name}")
        elif text is not None and base is None and text != wanted:
            update.lines.append(f"kept {name}, which is your own")
        elif text is not None and base is not None:
            merged, has_conflicts = _merged(text, base, wanted)
            if has_conflicts:
                update.conflicts.append(name)
            if merged != text:
                _write(file, merged)
                update.lines.append(f"updated {name}" + (", with conflicts" * has_conflicts))
    _write(root / RECORD, record_of(todays))
    return update


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _written_before(root: Path, names: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of files as ``init`` or the last update wrote them."""
    record = root / RECORD
    if record.exists():
        try:
            return decode(record.read_bytes(), dict[str, str])
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{record} cannot be read ({error}); restore it") from error
    if _git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise GitError(
            f"{root} has no {RECORD}, and its history is not complete; git fetch --unshallow first"
        )
    found = {name: text for name in names if (text := _first_committed(root, name)) is not None}
    if not found:
        raise ConfigError(f"{root} has no {RECORD}, and no commit with files of an operator")
    return found


def _first_committed(root: Path, name: str) -> str | None:
    """Return the text of a file in the commit that added it first, None if there is none."""
    commits = _git(root, "log", "--diff-filter=A", "--format=%H", "--", name).split()
    return _git(root, "show", f"{commits[-1]}:./{name}") if commits else None


def _merged(text: str, base: str, wanted: str) -> tuple[str, bool]:
    """Return the merge of three texts, and True if it has conflicts."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("yours", "before", "today")]
        for file, content in zip(files, (text, base, wanted), strict=True):
            file.write_text(content, encoding="utf-8")
        labels = [word for file in files for word in ("-L", file.name)]
        command = ["git", "merge-file", "-p", "--diff3", *labels, *map(str, files)]
        done = _run(command, Path(folder))
    if not 0 <= done.returncode <= _MOST_CONFLICTS:
        raise GitError(f"git merge-file: {done.stderr.strip()}")
    return done.stdout, done.returncode > 0


def _require_clean(root: Path) -> None:
    changed = _git(root, "status", "--porcelain", "--", ".")
    if changed:
        names = ", ".join(line[3:] for line in changed.splitlines()[:5])
        raise GitError(f"{root} has changes that are not committed ({names}); commit them first")


def _git(root: Path, *arguments: str) -> str:
    done = _run(["git", *arguments], root)
    if done.returncode:
        raise GitError(
            f"git {arguments[0]} in {root.resolve()}: {done.stderr.strip()}; an update is reviewed "
            "with git, so the project has to be in a repository"
        )
    return done.stdout


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=_TIMEOUT,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitError("there is no git, which merges the files; install it") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"{' '.join(command[:2])} took more than {_TIMEOUT:g} s") from error
