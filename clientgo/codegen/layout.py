"""Laying out generated Python.

Promises the layout of the project that the file will be part of, if it has ruff; else the text is
left as it is, valid but with long lines.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path


def laid_out(text: str, file: Path) -> str:
    """The text with imports and lines as the configuration around ``file`` wants them.

    Lines that cannot be broken, as a long pattern, are exempted in the text itself.
    """
    if importlib.util.find_spec("ruff") is None:
        return text
    formatted = _ruff(["format"], _ruff(["check", "--select", "I", "--fix"], text, file), file)
    long_lines = _ruff(["check", "--select", "E501", "--output-format", "concise"], formatted, file)
    return f"# ruff: noqa: E501\n{formatted}" if "E501" in long_lines else formatted


def _ruff(arguments: list[str], text: str, file: Path) -> str:
    """What ruff writes when it is given a text as that of a file."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        *arguments,
        "--quiet",
        "--stdin-filename",
        str(file),
        "-",
    ]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, encoding="utf-8", check=False
    ).stdout
