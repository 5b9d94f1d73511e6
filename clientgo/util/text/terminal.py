"""How every command looks: help with examples, colours, progress, exit statuses.

Colours and progress are for terminals. A program that reads the output gets plain lines, and so
does a terminal with NO_COLOR set or without colours (TERM=dumb).
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable
from difflib import get_close_matches
from enum import IntEnum
from typing import IO, Any, Final, Self, TextIO

from clientgo.util.text.escapes import escaped

BOLD, RED, GREEN, YELLOW = "1", "31", "32", "33"

_BAR: Final = 30
_QUIET: Final = 2.0
"""Seconds that work may take before its progress is shown."""
_REFRESH: Final = 0.1


class ExitStatus(IntEnum):
    """What a command returns to the shell."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


def has_colours(out: IO[str] | None) -> bool:
    """Return True if text for ``out`` may have colours: https://no-color.org."""
    if out is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return out.isatty()


def paint(text: str, colour: str, out: IO[str] | None) -> str:
    """Return text in a colour, or as it is if ``out`` has none."""
    return f"\x1b[{colour}m{text}\x1b[0m" if has_colours(out) else text


def complain(command: str, message: object) -> None:
    """Write an error as one line: the command, and what is wrong.

    It may have a server's text in it, which must not steer the terminal.
    """
    if isinstance(message, OSError) and message.filename is not None and message.strerror:
        message = f"{message.filename}: {message.strerror.lower()}"
    one_line = " ".join(line.strip() for line in str(message).splitlines())
    print(f"{paint(f'{command}:', RED, sys.stderr)} {escaped(one_line)}", file=sys.stderr)


class CommandParser(argparse.ArgumentParser):
    """The parser of a command and of its parts; ``examples`` are shown below its options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*arguments, **settings)

    def show_examples(self, *examples: str, statuses: str = "") -> None:
        """Set what the help ends with; ``statuses`` says what 0 and 1 mean, if not the usual."""
        lines = "\n".join(f"  {line}" for line in examples)
        self.epilog = f"examples:\n{lines}\n\nexit status:\n  {statuses or _STATUSES}"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of a command, which has to know them all.

        Its own parser refuses what it does not know: the one above shows another usage.
        """
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            similar = get_close_matches(unknown[0].partition("=")[0], self._option_string_actions)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return known, unknown

    def error(self, message: str) -> Any:
        """Show what is wrong with the arguments, and exit with 2."""
        self.print_usage(sys.stderr)
        complain(self.prog, message)
        self.exit(ExitStatus.USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        out = file or sys.stderr
        lines = (_heading(line, out) for line in message.splitlines(keepends=True))
        super()._print_message("".join(lines), file)


_STATUSES: Final = "0, done; 1, it failed; 2, wrong arguments; 130, interrupted"


def _heading(line: str, out: IO[str]) -> str:
    if line.startswith("usage:"):
        return paint("usage:", BOLD, out) + line.removeprefix("usage:")
    if line.endswith(":\n") and not line.startswith(" "):
        return paint(line.rstrip("\n"), BOLD, out) + "\n"
    return line


class Progress:
    """A line with a bar for work whose steps are counted, once it has taken two seconds.

    A context manager; on a terminal its line is removed at the end, elsewhere nothing is written.
    ``total`` 0: it is not known how many steps there are. Threads may call it.
    """

    def __init__(
        self,
        what: str,
        total: int = 0,
        *,
        out: TextIO | None = None,
        after: float = _QUIET,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._total = total
        self._out = sys.stderr if out is None else out
        self._now = now
        self._due = now() + after
        self._shown = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, done: int, total: int | None = None, note: str = "") -> None:
        """Show how much is done; most calls in a short time write nothing."""
        if not self._out.isatty():
            return
        with self._lock:
            if self._now() < self._due:
                return
            self._due = self._now() + _REFRESH
            self._shown = True
            self._write(self._line(done, self._total if total is None else total, note))

    def clear(self) -> None:
        """Remove the line; what is printed next begins there."""
        with self._lock:
            if self._shown:
                self._shown = False
                self._write("")

    def _line(self, done: int, total: int, note: str) -> str:
        if not total:
            return f"{self._what} ... {done}{note and f'  {note}'}"
        full = _BAR * min(done, total) // total
        bar = paint("━" * full, GREEN, self._out) + " " * (_BAR - full)
        return f"{self._what} [{bar}] {done}/{total}{note and f'  {note}'}"

    def _write(self, line: str) -> None:
        self._out.write(f"\r\x1b[K{line}")
        self._out.flush()
