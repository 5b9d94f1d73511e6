"""Collecting the mistakes in an object."""

from __future__ import annotations

import pytest

from clientgo.operator.webhooks import FieldErrors, path


def test_a_path_is_written_as_kubernetes_does() -> None:
    assert path("spec", "ports", 0, "name") == "spec.ports[0].name"
    assert path() == ""


def test_nothing_is_raised_where_nothing_is_wrong() -> None:
    FieldErrors().raise_if_any()


def test_all_mistakes_are_in_the_message_and_in_the_causes() -> None:
    """OP-WHK-05"""
    errors = FieldErrors()
    errors.invalid(path("spec", "a"), "x", "not good")
    errors.required(path("spec", "b"), "say it")
    errors.forbidden(path("spec", "c"), "not here")
    errors.not_supported(path("spec", "d"), "x", ["y", "z"])
    errors.duplicate(path("spec", "e"), 1)

    with pytest.raises(FieldErrors) as caught:
        errors.raise_if_any()

    invalid = caught.value.as_invalid(kind="Foo", group="", name="a")
    assert len(errors) == len(invalid.status.details.causes) == 5
    assert invalid.message == f'Foo "a" is invalid: {errors}'
    assert 'spec.d: Unsupported value: "x": supported values: "y", "z"' in str(errors)
    assert [cause.reason for cause in invalid.status.details.causes] == [
        "FieldValueInvalid",
        "FieldValueRequired",
        "FieldValueForbidden",
        "FieldValueNotSupported",
        "FieldValueDuplicate",
    ]
