"""The words that may come next on a command line, found in the parsers of :mod:`argparse`.

argparse has no public way to ask a parser for its arguments, so this reads what it keeps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

REQUEST: Final = "__complete"
"""The first argument of a shell's request for words; the last is the word to complete."""


def candidates(
    parser: argparse.ArgumentParser,
    words: Sequence[str],
    load: Callable[[str, argparse.ArgumentParser], object] = lambda _name, _parser: None,
) -> list[str]:
    """Return what may come next after all words but the last, which is the beginning of it.

    An empty list: the shell proposes files. ``load`` is called before the arguments of a command
    are read, with its name.
    """
    *before, current = words or [""]
    expecting: argparse.Action | None = None
    positionals = 0
    for word in before:
        commands = _commands(parser)
        if expecting is not None:
            expecting = None
        elif word.startswith("-"):
            option = parser._option_string_actions.get(word)
            expecting = option if option is not None and option.nargs != 0 else None
        elif commands is not None and word in commands.choices:
            parser, positionals = commands.choices[word], 0
            load(word, parser)
        else:
            positionals += 1
    return sorted(
        word for word in _next(parser, expecting, positionals, current) if word.startswith(current)
    )


def _next(
    parser: argparse.ArgumentParser,
    expecting: argparse.Action | None,
    positionals: int,
    current: str,
) -> Sequence[str]:
    if expecting is not None:
        return list(map(str, expecting.choices or ()))
    if current.startswith("-"):
        return [name for name in parser._option_string_actions if len(name) > 2 or current == name]
    taken = parser._get_positional_actions()[positionals : positionals + 1]
    return [str(choice) for action in taken for choice in action.choices or ()]


def _commands(
    parser: argparse.ArgumentParser,
) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    return next((a for a in parser._actions if isinstance(a, argparse._SubParsersAction)), None)
