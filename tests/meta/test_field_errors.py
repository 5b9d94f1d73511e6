"""Causes read as an API server words them."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema import FieldError, Verbatim, aggregate_message

MESSAGES: list[tuple[FieldError, str]] = [
    (FieldError.required("spec"), "Required value"),
    (FieldError.required("spec", "be there"), "Required value: be there"),
    (FieldError.invalid("a", 'say "x"\n', "no"), 'Invalid value: "say \\"x\\"\\n": no'),
    (FieldError.invalid("a", True, "no"), "Invalid value: true: no"),
    (FieldError.invalid("a", None, "no"), "Invalid value: null: no"),
    (FieldError.invalid("a", 2.0, "no"), "Invalid value: 2: no"),
    (FieldError.invalid("a", 1234567.5, "no"), "Invalid value: 1.2345675e+06: no"),
    (FieldError.invalid("a", 1e-7, "no"), "Invalid value: 1e-07: no"),
    (
        FieldError.invalid("a", {"b": 1.0, "a": "<"}, "no"),
        'Invalid value: {"a":"\\u003c","b":1}: no',
    ),
    (FieldError.invalid("a", Verbatim("[x]"), "no"), "Invalid value: [x]: no"),
    (FieldError.invalid("a", "ä\x00\u2028", "no"), 'Invalid value: "ä\\x00\\u2028": no'),
    (FieldError.too_long("a", 1), "Too long: may not be more than 1 byte"),
    (FieldError.too_many("a", 4, 1), "Too many: 4: must have at most 1 item"),
    (FieldError.duplicate("a", "x"), 'Duplicate value: "x"'),
    (FieldError.not_found("a", "x"), 'Not found: "x"'),
    (FieldError.forbidden("a", "no"), "Forbidden: no"),
    (
        FieldError.not_supported("a", ["true"], ["All"]),
        'Unsupported value: ["true"]: supported values: "All"',
    ),
]


@pytest.mark.parametrize(("error", "message"), MESSAGES)
def test_message(error: FieldError, message: str) -> None:
    assert error.message == message


def test_a_cause_has_reason_message_and_field() -> None:
    cause: dict[str, Any] = FieldError.required("spec.name").as_cause()

    assert cause == {
        "reason": "FieldValueRequired",
        "message": "Required value",
        "field": "spec.name",
    }


def test_a_cause_about_the_root_shows_nil() -> None:
    assert FieldError.invalid("", "x", "no").as_cause()["field"] == "<nil>"


def test_one_error_is_its_own_aggregate() -> None:
    assert aggregate_message([FieldError.required("a")]) == "a: Required value"


def test_several_errors_are_listed_without_repetitions() -> None:
    errors = [FieldError.required("a"), FieldError.required("b"), FieldError.required("a")]

    assert aggregate_message(errors) == "[a: Required value, b: Required value]"
