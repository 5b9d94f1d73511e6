"""Patterns match what Go matches, and are refused with Go's words where Go refuses them."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clientgo.util.process import CpuTimeExceededError, cpu_time_limit
from clientgo.util.text import go_regexp
from clientgo.util.text.go_regexp import GoRegexpError, compile_go_regexp
from tests.util.process.forking import in_children

LONG = 100_000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^a$", "a"),
        (r"\Aa\z", "a"),
        ("(?i)ABC", "xabc"),
        ("a(?i)B|C", "c"),
        ("x(?i:Y)z", "xyz"),
        ("(?i)^É$", "é"),
        ("(?i)k", "\N{KELVIN SIGN}"),
        ("(?m)^b$", "a\nb\nc"),
        ("(?s)a.b", "a\nb"),
        ("(?U)^(a+)(a*)$", "aa"),
        ("(?s-i:A.b)", "A\nb"),
        ("[[:alpha:]_]+", "_x"),
        ("[[:^digit:]]", "x"),
        (r"[\w.-]+", "a-b.c"),
        (r"^\pL+$", "éя"),
        (r"^\pN$", "Ⅳ"),
        (r"^\p{Greek}$", "λ"),
        (r"^\p{^Greek}$", "l"),
        (r"^\p{Lu}$", "É"),
        (r"^\p{Letter}\p{lu}\P{decimal_number}$", "éÉx"),
        (r"^[\p{Uppercase-Letter}_]+$", "É_"),
        (r"^[^\p{Lu}]$", "é"),
        (r"\Qa.b\E+", "a.bb"),
        (r"^\Q\p{Letter}\C", r"\p{Letter}\C"),
        (r"\x41\x{1F600}\101", "A😀A"),
        ("(?P<n>a)(?<m>b)", "ab"),
        ("[a&&b]", "&"),
        ("[[]", "["),
        ("[]a]", "]"),
        ("^a{2,3}?$", "aaa"),
        ("^a{,2}$", "a{,2}"),
        ("^a{02}$", "a{02}"),
        ("a{", "a{"),
        ("^*a", "a"),
        (r"\.\-\_", ".-_"),
        (r"^\pL{1000}$", "é" * 1000),
        (r"^[\pL\pN]{1,1000}$", "é1"),
        ("(" * 1000 + ")" * 1000, ""),
        ("(a)" * 1001, "a" * 1001),
    ],
)
def test_matches(pattern: str, text: str) -> None:
    assert compile_go_regexp(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^a$", "a\n"),
        ("^é$", "É"),
        (r"^\d$", "٣"),
        (r"^\w$", "é"),
        ("^.$", "\n"),
        ("a(?i)B|C", "b"),
        ("(?i:x)y", "XY"),
        (r"\P{L}", "é"),
    ],
)
def test_does_not_match(pattern: str, text: str) -> None:
    assert not compile_go_regexp(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("a(?<!b)c", "invalid named capture: `(?<!b)c`"),
        ("(?<=b>)c", "invalid named capture: `(?<=b>`"),
        ("(?P<ä>a)", "invalid named capture: `(?P<ä>`"),
        ("(?<n", "invalid named capture: `(?<n`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"a\x{", r"invalid escape sequence: `\x{`"),
        (r"a\x1", r"invalid escape sequence: `\x1`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        ("\\é", "invalid escape sequence: `\\é`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a?+", "invalid nested repetition operator: `?+`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{50}){50}", "invalid repeat count: `{50}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        ("(" * 1001 + ")" * 1001, f"expression nests too deeply: `{'(' * 1001 + ')' * 1001}`"),
    ],
)
def test_is_refused_with_the_words_of_go(pattern: str, problem: str) -> None:
    with pytest.raises(GoRegexpError) as failure:
        compile_go_regexp(pattern)

    assert str(failure.value) == f"error parsing regexp: {problem}"


def test_a_pattern_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(GoRegexpError, match="expression too large"):
        compile_go_regexp(r"(?:[\pL\pN]{1000})" * 3)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*", "baac", ["", "aa", ""]),
        ("a|ab", "ab", ["a"]),
        ("a+?", "aa", ["a", "a"]),
        (r"\bx", "x xx", ["x", "x"]),
        ("$", "ab", [""]),
        ("", "äb", ["", "", ""]),
        ("(é)|b", "aéb", ["é", "b"]),
    ],
)
def test_finds_all(pattern: str, text: str, found: list[str]) -> None:
    """As ``FindAllString`` of Go does, which knows no empty match right after another."""
    assert list(compile_go_regexp(pattern).find_all(text)) == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a*b", "a" * LONG),
        ("(a+)+$", "a" * LONG + "!"),
        ("^(a|a)*$", "a" * LONG + "!"),
        ("(.*)(.*)(.*)(.*)x", "a" * LONG),
        ("^" + "a?" * 500 + "a" * 500 + "$", "a" * 499),
        (r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)*x$", "a." * (LONG // 2)),
        ("(x+x+)+y", "x" * LONG),
        ("(a|b)*a(a|b){10}c", "ab" * (LONG // 2)),
        ("(a.{900}b|.a)+!", "abbab" * (LONG // 5)),
    ],
)
def test_the_time_of_a_match_grows_with_the_text_and_no_faster(pattern: str, text: str) -> None:
    began = time.process_time()

    assert not compile_go_regexp(pattern).matches(text)
    assert time.process_time() - began < 5


def test_a_pattern_is_used_by_many_threads() -> None:
    pattern = compile_go_regexp("(?:a|b)+c")
    texts = ["ab" * size + "c" * (size % 2) for size in range(1, 200)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(pattern.matches, texts * 5))

    assert found == [text.endswith("c") for text in texts * 5]


def test_without_the_library_a_pattern_names_the_extra_to_install() -> None:
    program = (
        "import sys; sys.modules['re2'] = None\n"
        "from clientgo.testcluster.schema import StructuralSchema\n"
        "StructuralSchema.parse({'type': 'object', 'properties': {'n': {'type': 'string'}}})\n"
        "from clientgo.util.text.go_regexp import compile_go_regexp\n"
        "try: compile_go_regexp('a')\n"
        "except ModuleNotFoundError as error: print(error)"
    )

    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "pip install 'clientgo[schema]'" in finished.stdout


def test_patterns_are_kept_up_to_a_size() -> None:
    patterns = go_regexp._Patterns()
    large = [patterns.compiled(rf"\pL{{250}}{letter}") for letter in "abcdefghijklmnopqrst"]

    assert patterns.compiled(r"\pL{250}t") is large[-1]
    assert sum(found.size for found in patterns._kept.values()) <= 4_000_000
    assert r"\pL{250}a" not in patterns._kept


def test_a_pattern_keeps_to_the_processor_time_of_the_work() -> None:
    """Nothing interrupts a match, so it does not begin if it may take longer than is left."""
    slow = compile_go_regexp(r"(a?){1000}b")
    with cpu_time_limit(0.01):
        assert not slow.matches("a")
        for match in (slow.matches, lambda text: list(slow.find_all(text))):
            with pytest.raises(CpuTimeExceededError):
                match("a" * 100_000)
    with cpu_time_limit(-1.0), pytest.raises(CpuTimeExceededError):
        compile_go_regexp("not compiled before")


def test_a_forked_child_compiles_a_pattern_though_the_patterns_were_in_use_at_the_fork() -> None:
    compile_go_regexp("^a$")

    with go_regexp._patterns._lock:
        [answer] = in_children([lambda: compile_go_regexp("^a$").matches("a")], within=10.0)

    assert answer == "True"
