"""Matching a regular expression in time that grows with the text and no faster.

Promises: a `LinearMatcher` finds what Python's ``re`` finds, the leftmost match with the preference
of its quantifiers, without ever going back in the text.

Does not promise: speed on a pattern with large repeats within a text of many kinds; a match that
takes too many steps is given up with a `MatchLimitError`.

This is RE2's way, in small: the pattern becomes a program whose threads read the text side by side
(Pike), and each set of threads that was seen is kept as a state, so that most characters cost one
look-up. The end of a match is found forwards, its start by the mirrored program backwards.
"""

from __future__ import annotations

import enum
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from clientgo.text.pattern_tree import Assertion, Character, Choice, Part, Repeat, Sequence

_MAX_STEPS: Final = 2_000_000  # about a second
_MAX_INSTRUCTIONS: Final = 100_000
_STEPS_KEPT: Final = 100_000  # how much work on states is remembered: a few megabytes at most


class MatchLimitError(Exception):
    """Matching took too many steps and was given up."""


_MIRRORED: Final = {
    Assertion.TEXT_START: Assertion.TEXT_END,
    Assertion.TEXT_END: Assertion.TEXT_START,
    Assertion.LINE_START: Assertion.LINE_END,
    Assertion.LINE_END: Assertion.LINE_START,
}


class _Kind(enum.Enum):
    """What assertions ask of a neighbouring character."""

    EDGE = enum.auto()
    NEWLINE = enum.auto()
    WORD = enum.auto()
    OTHER = enum.auto()


_LINE_EDGES: Final = (_Kind.EDGE, _Kind.NEWLINE)
_WORD = re.compile(r"\w", re.ASCII)


def _kind(char: str | None) -> _Kind:
    if char is None:
        return _Kind.EDGE
    if char == "\n":
        return _Kind.NEWLINE
    return _Kind.WORD if _WORD.match(char) else _Kind.OTHER


def _holds(assertion: Assertion, before: _Kind, after: _Kind) -> bool:
    match assertion:
        case Assertion.TEXT_START:
            return before is _Kind.EDGE
        case Assertion.TEXT_END:
            return after is _Kind.EDGE
        case Assertion.LINE_START:
            return before in _LINE_EDGES
        case Assertion.LINE_END:
            return after in _LINE_EDGES
    at_boundary = (before is _Kind.WORD) != (after is _Kind.WORD)
    return at_boundary is (assertion is Assertion.WORD_BOUNDARY)


@dataclass(slots=True)
class _Fork:
    """Go on at two places, at the first one rather."""

    first: int
    second: int


class _Match:
    """The whole pattern has matched."""


_Instruction = Character | Assertion | _Fork | _Match


class _Assembler:
    """Writes the program for a pattern; if mirrored, one that reads the text backwards."""

    def __init__(self, *, mirrored: bool) -> None:
        self.program: list[_Instruction] = []
        self._mirrored = mirrored

    def add(self, part: Part) -> None:
        match part:
            case Character():
                self.emit(part)
            case Assertion():
                self.emit(_MIRRORED.get(part, part) if self._mirrored else part)
            case Sequence():
                for below in reversed(part.parts) if self._mirrored else part.parts:
                    self.add(below)
            case Choice():
                self._add_choice(part)
            case Repeat():
                self._add_repeat(part)

    def emit(self, instruction: _Instruction) -> None:
        if len(self.program) >= _MAX_INSTRUCTIONS:
            raise MatchLimitError("the pattern is too large to be matched with a long text")
        self.program.append(instruction)

    def _fork(self, *, lazy: bool) -> Callable[[], None]:
        """Fork to what follows and, rather if lazy, to where the returned function is called."""
        fork = _Fork(len(self.program) + 1, len(self.program) + 1)
        self.emit(fork)

        def lands_here() -> None:
            if lazy:
                fork.first = len(self.program)
            else:
                fork.second = len(self.program)

        return lands_here

    def _jump(self, target: int) -> None:
        self.emit(_Fork(target, target))

    def _add_choice(self, choice: Choice) -> None:
        jumps: list[_Fork] = []
        for below in choice.parts[:-1]:
            otherwise = self._fork(lazy=False)
            self.add(below)
            jump = _Fork(0, 0)
            self.emit(jump)
            jumps.append(jump)
            otherwise()
        self.add(choice.parts[-1])
        for jump in jumps:
            jump.first = jump.second = len(self.program)

    def _add_repeat(self, repeat: Repeat) -> None:
        for _ in range(repeat.low):
            self.add(repeat.part)
        if repeat.high is None:
            start = len(self.program)
            leave = self._fork(lazy=repeat.lazy)
            self.add(repeat.part)
            self._jump(start)
            leave()
            return
        exits: list[Callable[[], None]] = []
        for _ in range(repeat.high - repeat.low):
            exits.append(self._fork(lazy=repeat.lazy))
            self.add(repeat.part)
        for leave in exits:
            leave()


_ANY: Final = Character(lambda _: True)


class _State(dict[str | None, tuple[bool, "_State"]]):
    """Threads at a place of the text, the preferred first: for the next character, whether they
    match before it, and the state after it."""

    __slots__ = ("before", "threads")

    def __init__(self, threads: tuple[int, ...], before: _Kind) -> None:
        super().__init__()
        self.threads = threads
        self.before = before


class _Automaton:
    """Runs a program over text; finds the preferred match or, mirrored, the longest."""

    def __init__(self, pattern: Part, *, mirrored: bool) -> None:
        assembler = _Assembler(mirrored=mirrored)
        if not mirrored:
            assembler.add(Repeat(_ANY, 0, None, lazy=True))  # a match may start anywhere
        assembler.add(pattern)
        assembler.emit(_Match())
        self._program = assembler.program
        self._wants_longest = mirrored
        self._states: dict[tuple[tuple[int, ...], _Kind], _State] = {}
        self._steps = 0
        self._steps_kept = 0

    def run(
        self, text: str, places: range, before: str | None, after: str | None, *, any_match: bool
    ) -> int | None:
        """Read the characters at these places of the text, between these neighbours.

        Returns after how many of them the match ends, or the first known one with `any_match`.
        """
        state = self._state((0,), _kind(before))
        found = None
        self._steps = 0
        for count, place in enumerate(places):
            char = text[place]
            matched, state = state.get(char) or self._step(state, char)
            if matched:
                found = count
                if any_match:
                    return found
            if not state.threads:
                return found
        matched, _ = state.get(after) or self._step(state, after)
        return len(places) if matched else found

    def _state(self, threads: tuple[int, ...], before: _Kind) -> _State:
        return self._states.setdefault((threads, before), _State(threads, before))

    def _step(self, state: _State, char: str | None) -> tuple[bool, _State]:
        """Let the threads of a state read a character (None: the end) for the first time."""
        after = _kind(char)
        program = self._program
        waiting = list(reversed(state.threads))
        seen: set[int] = set()
        threads: dict[int, None] = {}
        matched = False
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            match program[at]:
                case _Fork(first, second):
                    waiting += (second, first)
                case Assertion() as assertion:
                    if _holds(assertion, state.before, after):
                        waiting.append(at + 1)
                case Character(fits):
                    if char is not None and fits(char):
                        threads[at + 1] = None
                case _:
                    matched = True
                    if not self._wants_longest:
                        break  # the threads that are left are those that were preferred less
        self._count(len(seen))
        step = matched, self._state(tuple(threads), after)
        state[char] = step
        return step

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise MatchLimitError("matching the pattern takes too long")
        self._steps_kept += steps
        if self._steps_kept > _STEPS_KEPT:
            self._states.clear()
            self._steps_kept = 0


class LinearMatcher:
    """A pattern ready to be matched. May be used by any number of threads."""

    def __init__(self, pattern: Part) -> None:
        self._forwards = _Automaton(pattern, mirrored=False)
        self._backwards = _Automaton(pattern, mirrored=True)
        self._lock = threading.Lock()

    def matches(self, text: str) -> bool:
        """Tell whether the pattern matches somewhere in the text.

        Raises:
            MatchLimitError: that takes too many steps.
        """
        with self._lock:
            places = range(len(text))
            return self._forwards.run(text, places, None, None, any_match=True) is not None

    def find(self, text: str, position: int) -> tuple[int, int] | None:
        """Return where the first match at or after the position starts and ends.

        Raises:
            MatchLimitError: that takes too many steps.
        """
        before = text[position - 1] if position else None
        with self._lock:
            places = range(position, len(text))
            length = self._forwards.run(text, places, before, None, any_match=False)
            if length is None:
                return None
            end = position + length
            after = text[end] if end < len(text) else None
            places = range(end - 1, position - 1, -1)
            back = self._backwards.run(text, places, after, before, any_match=False)
        assert back is not None  # what matched forwards matches backwards
        return end - back, end
