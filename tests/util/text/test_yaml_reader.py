"""YAML as Kubernetes reads it, and documents that are made to take long or to fill the memory."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from clientgo.util.text.yaml_reader import (
    MOST_CHARACTERS,
    MOST_VALUES,
    YamlError,
    read_yaml,
    read_yaml_documents,
)

BOUND = 20.0
"""Seconds; all of it takes less than one on an idle machine."""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("yes", True), ("on", True), ("y", True), ("No", False), ("off", False), ("yEs", "yEs")),
        *(("", None), ("~", None), ("Null", None), ("nULL", "nULL")),
        *(("12", 12), ("-12", -12), ("+12", 12), ("1_000", 1000), ("0x1F", 31), ("-0b11", -3)),
        *(("0o17", 15), ("017", 15), ("08", 8), ("0", 0), ("-0", 0), ("0x", "0x"), ("1__2", 12)),
        *(("9223372036854775807", 2**63 - 1), ("18446744073709551615", 2.0**64)),
        ("99999999999999999999", 1e20),
        *(("1.5", 1.5), (".5", 0.5), ("1e3", 1000), ("1.", 1), ("1e999", "1e999")),
        *(("190:20:30", "190:20:30"), ("1:20", "1:20"), ("20:30.15", "20:30.15")),
        *(("2020-01-01", "2020-01-01"), ("2020-01-01 10:00:00", "2020-01-01 10:00:00")),
        *(("=", "="), ("<<", "<<"), ("- ~", [None]), ("'12'", "12"), ('"yes"', "yes")),
        *(("!!str 12", "12"), ("!!int '12'", 12), ("!!float 3", 3), ("!!bool on", True)),
        *(("!!binary aGk=", "hi"), ("!!python/object:os.x x", "x"), ("!!set {a}", {"a": None})),
        *(("!!timestamp 2020-1-2", "2020-1-2"), ("x: !!map {}", {"x": {}})),
    ],
)  # fmt: skip
def test_scalars_are_what_kubernetes_reads(text: str, value: Any) -> None:
    read = read_yaml(text.encode())[0]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1: a\ntrue: b\n1.5: c\n2020-01-01: d\nx: e", "1 true 1.5 2020-01-01 x"),
    ],
)
def test_keys_become_text(text: str, value: str) -> None:
    assert " ".join(read_yaml(text.encode())[0]) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {k: 1, l: 1}\nb: {<<: *x, l: 2}", {"k": 1, "l": 2}),
        ("a: 1\nb:\n  <<: [{k: 1}, {k: 2, l: 2}]", {"k": 1, "l": 2}),
        ("b: {'<<': 1}", {"<<": 1}),
        ("b: {!!merge <<: {k: 1}}", {"k": 1}),
        ("a: &x [1]\nb: *x", [1]),
        ("a: {k: 1, k: 2}\nb: {k: 1, k: 2}", {"k": 2}),
        ("b: 1\n---\nb: 2", 1),
    ],
)
def test_aliases_merges_and_documents(text: str, value: Any) -> None:
    assert read_yaml(text.encode())[0]["b"] == value


def test_what_an_alias_repeats_is_not_shared() -> None:
    read = read_yaml(b"a: &x {k: [1]}\nb: *x")[0]
    read["a"]["k"].append(2)
    assert read["b"] == {"k": [1]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(('!!int ""', "cannot decode !!null `` as a !!int"), ('!!float ""', "!!null")),
        *(('!!bool "zzz"', "cannot decode !!str `zzz` as a !!bool"), ("!!null x", "as a !!null")),
        *(("!!timestamp 99999-99-99", "!!timestamp"), ("!!timestamp 2020-99-99", "!!timestamp")),
        *(("!!int 1.5", "!!float `1.5` as a !!int"), ("!!float 1e999", "as a !!float")),
        *((".nan", "unsupported value"), ("!!binary '='", "invalid base64")),
        *(("a: &a [*a]", "'a' value contains itself"), ("*a", "unknown anchor")),
        *(("~: 1", "invalid map key"), ("[1]: 2", "did not find|invalid map key")),
        *(("<<: 1", "map merge requires"), ("<<: [1]", "map merge requires")),
        *(("a: b: c", "mapping values are not allowed in this context"), ("}", "node content")),
        *(("{\n", "line 1: did not find expected node content"), ("\t", "token")),
        *(("\0", "unacceptable"), (b"\xff\xff", "yaml")),
    ],
)
def test_what_is_wrong_is_said(text: str | bytes, message: str) -> None:
    with pytest.raises(YamlError, match=message):
        read_yaml(text if isinstance(text, bytes) else text.encode())


def _laughs(levels: int, of: str = "[x]") -> str:
    lines = [f"a0: &a0 {of}"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(lines)


def _merges(levels: int) -> str:
    lines = [f"a0: &a0 {{{','.join(f'k{n}: 1' for n in range(9))}}}"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} {{<<: [{','.join([f'*a{level - 1}'] * 9)}]}}")
    return "\n".join(lines)


BOMBS = {
    "aliases of aliases": _laughs(12),
    "merges of merges": _merges(12),
    "aliases of a long text": f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * 50_000)}]",
    "merges of a large map": (
        f"a: &a {{{','.join(f'k{n}: 1' for n in range(20_000))}}}\n"
        f"b: {{<<: [{','.join(['*a'] * 20_000)}]}}"
    ),
    "nested sequences": "[" * 50_000,
    "nested mappings": "{a: " * 50_000,
    "nested blocks": "\n".join(" " * depth + "a:" for depth in range(1500)),
    "many values": f"[{','.join(['1'] * (MOST_VALUES + 1))}]",
    "open anchors": "".join(f"&a{n} [" for n in range(990)) + ",".join(["*a0"] * 99_000),
    "tag directives": "".join(f"%TAG !{n}! tag:x\n" for n in range(20_000)) + "--- a",
    "long tags": f"%TAG !e! tag:{'x' * 100_000}\n---\n" + "- !e!a x\n" * 10_000,
    "long tags of sequences": f"%TAG !e! tag:{'x' * 100_000}\n---\n" + "- !e!a []\n" * 10_000,
}


def test_a_document_may_be_as_long_as_it_is() -> None:
    """Only what is repeated has a limit of its own."""
    text = "x" * (MOST_CHARACTERS + 1)
    assert read_yaml(f"a: {text}".encode())[0] == {"a": text}


def test_tag_directives_are_counted_in_every_encoding() -> None:
    """libyaml compares each with all before it."""
    body = "\ufeff" + BOMBS["tag directives"]
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(YamlError, match="too many tag directives"):
            read_yaml(body.encode(encoding))


@pytest.mark.parametrize("name", BOMBS)
def test_a_document_that_expands_is_refused_soon(name: str) -> None:
    begun = time.monotonic()
    with pytest.raises(YamlError):
        read_yaml(BOMBS[name].encode())
    assert time.monotonic() - begun < BOUND


@pytest.mark.parametrize(
    "text",
    [
        "1" + ":59" * 500_000,
        "9" * 3_000_000,
        "0x" + "f" * 3_000_000,
        "0." + "1" * 3_000_000,
        "1_" * 1_000_000,
        "!!int " + "9" * 2_000_000 + ":1",
        "#" * 3_000_000,
        "? " * 900,
        "a: " + "&a " * 2,
        "'" + "''" * 1_000_000 + "'",
        '"' + "\\x41" * 500_000 + '"',
        "%TAG ! tag:x,2000:\n" * 50_000,
        "- " * 900 + "a",
    ],
    ids=lambda text: text[:12],
)
def test_a_long_scalar_takes_linear_time(text: str) -> None:
    """Numbers in base 60 were quadratic."""
    begun = time.monotonic()
    with contextlib.suppress(YamlError):
        read_yaml(text.encode())[0]
    assert time.monotonic() - begun < BOUND


def test_the_documents_of_a_file_are_read_by_the_same_rules() -> None:
    text = "a: 12:30\n---\n# nothing\n---\n- 1e3\n- y\n...\n---\nc: =\n"

    assert read_yaml_documents(text.encode()) == [{"a": "12:30"}, [1000, True], {"c": "="}]
    assert read_yaml_documents(b"") == []


def test_each_document_has_anchors_and_limits_of_its_own() -> None:
    with pytest.raises(YamlError, match="unknown anchor 'x'"):
        read_yaml_documents(b"a: &x 1\n---\nb: *x\n")

    half = b"[" + b"1," * (MOST_VALUES // 2) + b"1]\n"
    assert len(read_yaml_documents(half + b"---\n" + half + b"---\n" + half)) == 3


def test_an_error_in_a_later_document_is_told() -> None:
    with pytest.raises(YamlError, match="line"):
        read_yaml_documents(b"a: 1\n---\nb: [\n")
