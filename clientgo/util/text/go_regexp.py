"""Regular expressions in Go's syntax, matched by RE2 in linear time.

Promises: `compile_go_regexp` accepts what Go's ``regexp`` accepts, refuses other patterns with
its messages, and matches the same text.

Does not promise: the Unicode classes ``ASCII``, ``Assigned``, ``Cn`` and ``LC``, which RE2 lacks.

Go's package follows RE2. The few patterns that the two read differently are handled here, before
RE2 gets them. ``google-re2`` is imported with the first pattern.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from clientgo.util.copies import CopyableError
from clientgo.util.extras import needing_extra
from clientgo.util.process import check_cpu_time, renew_in_child

_MAX_MEMORY: Final = 32 * 1024 * 1024
"""Bytes of a compiled pattern: enough for a thousand letters of any script (``\\pL{1000}``)."""
_MAX_NESTING: Final = 1000
_MOST_PATTERNS: Final = 256
_MOST_KEPT: Final = 4_000_000
"""Instructions of all patterns that are kept: some 64 MB."""
_SECONDS_A_STEP: Final = 0.5e-9
"""What an instruction of a pattern takes for a byte of the text, if it takes part in the match."""

_GO_PROBLEMS: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
"""Go's words for the problems that RE2 describes in other words."""

_CATEGORIES: Final = {
    alias.replace("_", "").lower(): category
    for category, aliases in {
        "C": "Other",
        "Cc": "Control cntrl",
        "Cf": "Format",
        "Co": "Private_Use",
        "Cs": "Surrogate",
        "L": "Letter",
        "Ll": "Lowercase_Letter",
        "Lm": "Modifier_Letter",
        "Lo": "Other_Letter",
        "Lt": "Titlecase_Letter",
        "Lu": "Uppercase_Letter",
        "M": "Mark Combining_Mark",
        "Mc": "Spacing_Mark",
        "Me": "Enclosing_Mark",
        "Mn": "Nonspacing_Mark",
        "N": "Number",
        "Nd": "Decimal_Number digit",
        "Nl": "Letter_Number",
        "No": "Other_Number",
        "P": "Punctuation punct",
        "Pc": "Connector_Punctuation",
        "Pd": "Dash_Punctuation",
        "Pe": "Close_Punctuation",
        "Pf": "Final_Punctuation",
        "Pi": "Initial_Punctuation",
        "Po": "Other_Punctuation",
        "Ps": "Open_Punctuation",
        "S": "Symbol",
        "Sc": "Currency_Symbol",
        "Sk": "Modifier_Symbol",
        "Sm": "Math_Symbol",
        "So": "Other_Symbol",
        "Z": "Separator",
        "Zl": "Line_Separator",
        "Zp": "Paragraph_Separator",
        "Zs": "Space_Separator",
    }.items()
    for alias in (category, *aliases.split())
}
"""The Unicode categories by the names that Go accepts. RE2 knows their short names only."""

_ESCAPE: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\[pP]\{(?P<not>\^?)(?P<name>[^}]*)\}|\\.", re.DOTALL
)
_NAMED_GROUP: Final = re.compile(r"\(\?P?<([^>]*)>")
_LOOK_BEHIND: Final = re.compile(r"\(\?<[=!][^>]*>?", re.DOTALL)
_CUT_ESCAPE: Final = re.compile(r"\\x[^\\]*\Z")
_PARENTHESIS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|([()])", re.DOTALL)


class GoRegexpError(CopyableError, ValueError):
    """The pattern is not a regular expression in Go's syntax."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


class GoRegexp:
    """A compiled pattern, made by `compile_go_regexp`. Safe for any number of threads."""

    __slots__ = ("_regexp", "size")

    def __init__(self, regexp: Any) -> None:
        self._regexp = regexp
        self.size: int = regexp.programsize
        """The instructions of the compiled pattern, of some 16 bytes each."""

    def matches(self, text: str) -> bool:
        """Return True if the pattern matches somewhere in the text.

        Raises:
            CpuTimeExceededError: the work has a limit of processor time, and the match may take
                more than is left.
        """
        raw = text.encode(errors="replace")
        check_cpu_time(len(raw) * self.size * _SECONDS_A_STEP)
        return self._regexp.search(raw) is not None

    def find_all(self, text: str) -> Iterator[str]:
        """Yield the matches in the text. An empty match directly after another is left out.

        Raises:
            CpuTimeExceededError: as for `matches`.
        """
        last_end = -1
        raw = text.encode(errors="replace")
        check_cpu_time(len(raw) * self.size * _SECONDS_A_STEP)
        for match in self._regexp.finditer(raw.decode()):
            start, end = match.span()
            if start < end or start != last_end:
                yield match.group()
            last_end = end


class _Patterns:
    """Compiled patterns, those that were used last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._kept: OrderedDict[str, GoRegexp] = OrderedDict()
        self._size = 0

    def compiled(self, pattern: str) -> GoRegexp:
        """Return a pattern, compiled unless it is kept."""
        with self._lock:
            if (found := self._kept.get(pattern)) is not None:
                self._kept.move_to_end(pattern)
                return found
        found = _compile(pattern)
        with self._lock:
            if self._kept.setdefault(pattern, found) is found:
                self._size += found.size
            while self._size > _MOST_KEPT or len(self._kept) > _MOST_PATTERNS:
                self._size -= self._kept.popitem(last=False)[1].size
        return found


_patterns = _Patterns()


def compile_go_regexp(pattern: str) -> GoRegexp:
    """Compile a pattern, or return it as it was compiled before.

    Raises:
        GoRegexpError: Go refuses the pattern.
        CpuTimeExceededError: the work has a limit of processor time, and has reached it.
        MissingExtraError: the package is not installed.
    """
    return _patterns.compiled(pattern)


def _compile(pattern: str) -> GoRegexp:
    check_cpu_time()  # the largest take a second, in which no other thread runs
    with needing_extra("schema", "a pattern in a schema or rule"):
        import re2

    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    bad_names = [group[0] for group in _NAMED_GROUP.finditer(pattern) if not group[1].isascii()]
    options.never_capture = not bad_names  # faster, as nothing reads the groups
    if _nesting(pattern) > _MAX_NESTING:
        raise GoRegexpError("expression nests too deeply", pattern)
    try:
        compiled = re2.compile(_for_re2(pattern).encode(errors="replace"), options)
    except re2.error as error:
        raise _go_error(error.args[0].decode(errors="replace"), pattern) from error
    if bad_names and any(not name.isascii() for name in compiled.groupindex):
        raise GoRegexpError("invalid named capture", bad_names[0])
    return GoRegexp(compiled)


def _for_re2(pattern: str) -> str:
    """Return the pattern with the names of Unicode categories as RE2 knows them."""
    return _ESCAPE.sub(_escape_for_re2, pattern)


def _escape_for_re2(escape: re.Match[str]) -> str:
    if escape[0] == "\\C":  # one byte in RE2
        raise GoRegexpError("invalid escape sequence", escape[0])
    if escape["name"] is None:
        return escape[0]
    name = re.sub("[-_ ]", "", escape["name"]).lower()
    known = _CATEGORIES.get(name, escape["name"])
    return f"{escape[0][:2]}{{{escape['not']}{known}}}"


def _go_error(message: str, pattern: str) -> GoRegexpError:
    """Return the error that Go has for a message of RE2, which names a part of the pattern."""
    problem, _, part = message.partition(": ")
    if problem == "pattern too large - compile failed":
        return GoRegexpError("expression too large", pattern)
    if problem == "invalid UTF-8":  # RE2 has read past the end of an escape
        cut = _CUT_ESCAPE.search(pattern)
        return GoRegexpError("invalid escape sequence", cut[0] if cut else part)
    if part in ("(?<=", "(?<!"):  # Go takes what follows for a name
        group = _LOOK_BEHIND.search(pattern)
        return GoRegexpError("invalid named capture", group[0] if group else part)
    return GoRegexpError(_GO_PROBLEMS.get(problem, problem), part)


def _nesting(pattern: str) -> int:
    """Return how deep the groups of a pattern are nested."""
    if pattern.count("(") <= _MAX_NESTING:
        return 0
    depth = deepest = 0
    for match in _PARENTHESIS.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(match[1], 0)
        deepest = max(deepest, depth)
    return deepest
