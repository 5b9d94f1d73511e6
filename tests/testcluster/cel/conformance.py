"""The conformance tests of cel-spec: reading them, what is in scope, and what comes out.

``CLIENTGO_CEL_SPEC`` names the directory with the ``.textproto`` files: ``tests/simple/testdata``
in google/cel-spec. ``python -m tests.testcluster.cel.conformance`` prints the table of
docs/evidence/cel.md.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from clientgo.testcluster.cel import CelCompileError, CelError, Environment
from clientgo.testcluster.cel import types as cel_types
from clientgo.testcluster.cel.syntax.nodes import Element, Entry
from clientgo.testcluster.cel.syntax.parser import parse as parse_expression
from clientgo.testcluster.cel.types import CelType
from clientgo.testcluster.cel.values import Duration, Optional, Timestamp, Uint, type_of
from tests.testcluster.cel.textproto import Message, parse

VARIABLE = "CLIENTGO_CEL_SPEC"


@dataclass(frozen=True)
class Case:
    """One test of cel-spec."""

    file: str
    name: str
    message: Message = field(repr=False)

    @property
    def expression(self) -> str:
        return self.text("expr")

    def text(self, name: str) -> str:
        return self.message.get(name, [b""])[0].decode()

    def all_fields(self) -> set[str]:
        """Return the names of all fields and messages in the test, at any depth."""
        return set(_names(self.message))


class OutOfScopeError(Exception):
    """The test needs something that only protobuf has."""


@dataclass(frozen=True)
class Exclusion:
    """Tests that are left out, and why."""

    reason: str
    applies: Callable[[Case], bool]


def _uses(pattern: str) -> Callable[[Case], bool]:
    regex = re.compile(pattern)
    return lambda case: regex.search(case.expression) is not None


def _is_mixed_literal(case: Case) -> bool:
    """Return True if a list or map literal is refused because its elements differ in type."""
    error = _compile_error(case)
    if error is None or not error.problem.startswith("expected type"):
        return False
    return error.offset in set(_element_offsets(parse_expression(case.expression)))


def _is_refused_unchecked(case: Case) -> bool:
    return case.message.get("disable_check") == [True] and _compile_error(case) is not None


_FORMATS_OTHERWISE = re.compile(
    r"""(?<!%)%(\.\d+)?e|str_var\.format\(\[1052      # scientific notation
      | Infinity | %d.*NaN                           # what is not finite
      | %f"\.format\(\[\d+u?\]                       # integers in fixed-point notation
      | %s"\.format\(\[(dyn\()?[\[{]                 # lists and maps""",
    re.VERBOSE,
)


def _formats_otherwise(case: Case) -> bool:
    return case.file == "string_ext" and _FORMATS_OTHERWISE.search(case.expression) is not None


_OTHERWISE_IN_CEL_GO = (
    "qualified_identifier_resolution/map_key_null",
    "qualified_identifier_resolution/map_value_repeat_key",
    "value_errors/indexof_out_of_range",
    "value_errors/lastindexof_out_of_range",
)

EXCLUSIONS = (
    Exclusion("protobuf messages", lambda case: _needs_messages(case)),
    Exclusion("protobuf enums", lambda case: case.file == "enums"),
    Exclusion("no math library", _uses(r"\bmath\.")),
    Exclusion("no encoders library", _uses(r"\bbase64\.")),
    Exclusion("no bindings library", _uses(r"\bcel\.bind\(")),
    Exclusion("no block library", _uses(r"\bcel\.(block|index|iterVar)\(")),
    Exclusion("no container", lambda case: "container" in case.message),
    Exclusion(
        "no functions of its own",
        lambda case: any("function" in item for item in case.message.get("type_env", ())),
    ),
    Exclusion("strings library 2: no reverse", _uses(r"'\.reverse\(\)")),
    Exclusion("strings library 2: other text of format", _formats_otherwise),
    Exclusion(
        "milliseconds of whole durations",
        lambda case: case.name == "duration_converters/get_milliseconds",
    ),
    Exclusion("otherwise in cel-go", lambda case: case.name in _OTHERWISE_IN_CEL_GO),
    Exclusion("no IPv4-mapped addresses", _uses(r"'::ffff:")),
    Exclusion("types are always checked", _is_refused_unchecked),
    Exclusion("literals of one type", _is_mixed_literal),
)
"""Every reason is about Kubernetes; docs/evidence/cel.md explains them."""


def cases(directory: Path) -> Iterator[Case]:
    """Yield all tests of the files in a directory."""
    for path in sorted(directory.glob("*.textproto")):
        content = parse(path.read_text(encoding="utf-8"))
        for section in content.get("section", ()):
            for test in section.get("test", ()):
                name = f"{section['name'][0].decode()}/{test['name'][0].decode()}"
                yield Case(path.stem, name, test)


def reason_to_leave_out(case: Case) -> str | None:
    """Return why a test is out of scope, or None."""
    return next((rule.reason for rule in EXCLUSIONS if rule.applies(case)), None)


@dataclass(frozen=True)
class Outcome:
    """What came out of a test."""

    case: Case
    left_out: str | None
    """Why it was not run."""
    problem: str | None
    """What differs from what it expects."""


def outcomes(directory: Path) -> list[Outcome]:
    """Run the tests in a directory."""
    found = []
    for case in cases(directory):
        reason = reason_to_leave_out(case)
        found.append(Outcome(case, reason, None if reason else problem_of(case)))
    return found


def table(found: Iterable[Outcome]) -> str:
    """Return the outcomes by file, as a table in Markdown."""
    by_file: dict[str, Counter[str]] = {}
    for outcome in found:
        counts = by_file.setdefault(outcome.case.file, Counter())
        counts[outcome.left_out or ("passed" if outcome.problem is None else "FAILED")] += 1
    rows = ["| file | passed | left out |", "|---|---:|---|"]
    for name, counts in [*by_file.items(), ("all", sum(by_file.values(), Counter()))]:
        passed, failed = counts.pop("passed", 0), counts.pop("FAILED", 0)
        shown = f"{passed}, FAILED {failed}" if failed else f"{passed}"
        reasons = "; ".join(f"{reason}: {count}" for reason, count in counts.most_common())
        rows.append(f"| {name} | {shown} | {reasons} |")
    return "\n".join(rows)


def problem_of(case: Case) -> str | None:
    """Run a test and return what differs from what it expects, or None."""
    wants_error = "eval_error" in case.message
    try:
        program = Environment(_variables(case)).compile(case.expression)
    except CelCompileError as error:
        return None if wants_error else f"does not compile: {error.problem}"
    typed = case.message.get("typed_result", [{}])[0]
    if "deduced_type" in typed:
        wanted_type = _type(typed["deduced_type"][0])
        if program.result_type != wanted_type:
            return f"is of type {program.result_type}, not {wanted_type}"
    if case.message.get("check_only") == [True]:
        return None
    values = {
        binding["key"][0].decode(): _value(binding["value"][0]["value"][0])
        for binding in case.message.get("bindings", ())
    }
    try:
        value = program.evaluate(values)
    except CelError as error:
        return None if wants_error else f"fails: {error}"
    if wants_error:
        return f"gives {value!r} instead of an error"
    expected = typed.get("result") or case.message.get("value")
    wanted = _value(expected[0]) if expected else True
    return None if _same(value, wanted) else f"gives {value!r}, not {wanted!r}"


def _variables(case: Case) -> dict[str, CelType]:
    return {
        declared["name"][0].decode(): _type(declared["ident"][0]["type"][0])
        for declared in case.message.get("type_env", ())
    }


def _compile_error(case: Case) -> CelCompileError | None:
    try:
        Environment(_variables(case)).compile(case.expression)
    except CelCompileError as error:
        return error
    return None


def _element_offsets(node: Any) -> Iterator[int]:
    """Yield the places of all elements, keys and values of literals in a syntax tree."""
    if isinstance(node, Element):
        yield node.value.offset
    if isinstance(node, Entry):
        yield node.key.offset
        yield node.value.offset
    if isinstance(node, tuple):
        for part in node:
            yield from _element_offsets(part)
    elif is_dataclass(node):
        for part in fields(node):
            yield from _element_offsets(getattr(node, part.name))


def _same(value: Any, wanted: Any) -> bool:
    """Return True if two values are equal and of one type, where NaN equals NaN."""
    if isinstance(value, Optional) or type_of(value) != type_of(wanted):
        return False
    if isinstance(value, list):
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    if isinstance(value, dict):
        return len(value) == len(wanted) and all(
            name in value and _same(value[name], member) for name, member in wanted.items()
        )
    if isinstance(value, float):
        return value == wanted or (math.isnan(value) and math.isnan(wanted))
    return bool(value == wanted)


_SECONDS = 10**9
_MESSAGES: dict[str, Callable[[int], Any]] = {
    "[type.googleapis.com/google.protobuf.Timestamp]": Timestamp,
    "[type.googleapis.com/google.protobuf.Duration]": Duration,
}
_NAMED_TYPES = {named.name: named for named in cel_types.NAMED_TYPES.values()}
_PRIMITIVES = {
    "BOOL": cel_types.BOOL,
    "INT64": cel_types.INT,
    "UINT64": cel_types.UINT,
    "DOUBLE": cel_types.DOUBLE,
    "STRING": cel_types.STRING,
    "BYTES": cel_types.BYTES,
}


def _value(message: Message) -> Any:
    ((kind, (content, *_)),) = message.items()
    match kind:
        case "null_value":
            return None
        case "bool_value" | "int64_value":
            return content
        case "double_value":
            return float(content)
        case "uint64_value":
            return Uint(content)
        case "string_value":
            return content.decode()
        case "bytes_value":
            return content
        case "list_value":
            return [_value(item) for item in content.get("values", ())]
        case "map_value":
            return {
                _value(entry["key"][0]): _value(entry["value"][0])
                for entry in content.get("entries", ())
            }
        case "type_value":
            name = content.decode()
            if name not in _NAMED_TYPES:
                raise OutOfScopeError(name)
            return _NAMED_TYPES[name]
        case "object_value":
            ((name, (inner, *_)),) = content.items()
            if name in _MESSAGES:
                seconds, rest = (inner.get(part, [0])[0] for part in ("seconds", "nanos"))
                return _MESSAGES[name](seconds * _SECONDS + rest)
    raise OutOfScopeError(kind)


def _type(message: Message) -> CelType:
    ((kind, (content, *_)),) = message.items()
    match kind:
        case "primitive":
            return _PRIMITIVES[content]
        case "dyn":
            return cel_types.DYN
        case "null":
            return cel_types.NULL
        case "type":
            return cel_types.CelType("type", (_type(content),)) if content else cel_types.TYPE
        case "list_type":
            return cel_types.list_of(_type(content["elem_type"][0]))
        case "map_type":
            return cel_types.map_of(_type(content["key_type"][0]), _type(content["value_type"][0]))
        case "well_known" if content in ("TIMESTAMP", "DURATION"):
            return cel_types.TIMESTAMP if content == "TIMESTAMP" else cel_types.DURATION
        case "message_type" if content.decode() in _NAMED_TYPES:
            return _NAMED_TYPES[content.decode()]
        case "abstract_type" if content["name"] == [b"optional_type"]:
            return cel_types.optional_of(_type(content["parameter_types"][0]))
        case "type_param":
            return cel_types.CelType(content.decode(), is_variable=True)
    raise OutOfScopeError(kind)


def _names(message: Message) -> Iterator[str]:
    for name, values in message.items():
        yield name
        for value in values:
            if isinstance(value, dict):
                yield from _names(value)


_MESSAGE_LITERAL = re.compile(r"\b(?!in\s*\{)[A-Za-z_]\w*\s*\{")
_PROTOBUF_NAME = re.compile(
    r"google\.protobuf\.(?!Timestamp\b|Duration\b)|\bcel\.expr\.|\bTest(All|Req)"
)


def _needs_messages(case: Case) -> bool:
    source = re.sub(r"'[^']*'|\"[^\"]*\"", "''", case.expression)
    if _MESSAGE_LITERAL.search(source) or _PROTOBUF_NAME.search(source):
        return True
    return bool(
        case.all_fields() & {"enum_value", "wrapper", "single_any"}
        or any(name.startswith("[") and name not in _MESSAGES for name in case.all_fields())
        or any(_message_types(case.message))
    )


def _message_types(message: Message) -> Iterator[bool]:
    for name, values in message.items():
        for value in values:
            if name == "message_type" and value.decode() not in _NAMED_TYPES:
                yield True
            if name == "type_value" and value.decode() not in _NAMED_TYPES:
                yield True
            if name == "well_known" and value not in ("TIMESTAMP", "DURATION"):
                yield True
            if isinstance(value, dict):
                yield from _message_types(value)


if __name__ == "__main__":
    if VARIABLE not in os.environ:
        sys.exit(f"set {VARIABLE} to the directory tests/simple/testdata of google/cel-spec")
    print(table(outcomes(Path(os.environ[VARIABLE]))))
