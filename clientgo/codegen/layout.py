"""Lay out generated Python, and write it.

Promises the layout of the project that the file will be part of, if ruff is installed beside this
Python. A configuration that ruff refuses (a version that it requires, a broken ``ruff.toml``) is
logged, and ruff's own layout is taken. Without ruff the text is valid, with long lines. Code of the
current directory is not run. A file is replaced whole or not at all.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_log = logging.getLogger("clientgo.codegen")


def laid_out(text: str, file: Path) -> str:
    """The text with imports and lines as the configuration around ``file`` wants them.

    Lines that cannot be broken, as a long pattern, are exempted in the text itself.
    """
    ruff = _ruff_beside_python()
    if ruff is None:
        return text
    try:
        return _laid_out(ruff, text, file)
    except _RuffError as error:
        _log.warning("%s is laid out without its project's configuration: %s", file, error)
    try:
        return _laid_out(ruff, text, file, "--isolated")
    except _RuffError as error:
        _log.warning("%s is not laid out: %s", file, error)
        return text


def write_whole(file: Path, text: str) -> None:
    """Write a file, and its directories. A failure leaves the file as it was."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")  # a pipe or a terminal; a directory is refused
        return
    file = file.resolve()  # a link stays one
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        if file.exists():
            shutil.copymode(file, beside)
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


class _RuffError(Exception):
    """Ruff could not do its work; the text is its reason."""


def _ruff_beside_python() -> str | None:
    """The program, and not ``python -m ruff``, which may be a file of the current directory."""
    places = {os.path.dirname(sys.executable): None, sysconfig.get_path("scripts"): None}
    return shutil.which("ruff", path=os.pathsep.join(places))


def _laid_out(ruff: str, text: str, file: Path, *options: str) -> str:
    def run(*arguments: str, on: str) -> str:
        command = [ruff, *arguments, *options, "--quiet", "--stdin-filename", str(file), "-"]
        ran = subprocess.run(
            command, input=on, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if ran.returncode not in (0, 1) or (ran.returncode == 1 and ran.stderr):
            raise _RuffError(" ".join(ran.stderr.split()) or f"it ended with {ran.returncode}")
        return ran.stdout

    formatted = run("format", on=run("check", "--select", "I", "--fix", on=text))
    long_lines = run("check", "--select", "E501", "--output-format", "concise", on=formatted)
    return f"# ruff: noqa: E501\n{formatted}" if "E501" in long_lines else formatted
