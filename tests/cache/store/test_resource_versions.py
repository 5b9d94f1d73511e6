"""The resource version of whatever a store is given."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.cache.store.resource_versions import gauge_value, version_number, version_of
from clientgo.meta import ExplicitKey
from tests.cache.builders import foo


@pytest.mark.parametrize(
    ("obj", "text", "number"),
    [
        (foo("a", rv=7), "7", 7),
        (foo("a", rv=""), "", 0),
        ({"metadata": {"resourceVersion": "12"}}, "12", 12),
        (DeletedFinalStateUnknown("ns/a", foo("a", rv=7)), None, 0),
        (ExplicitKey("ns/a"), None, 0),
        (5, None, 0),
    ],
)
def test_a_version_is_text_and_a_number(obj: Any, text: str | None, number: int) -> None:
    """STO-08, MTC-01."""
    assert version_of(obj) == text
    assert version_number(obj) == number


@pytest.mark.parametrize("version", ["abc", "-1", "1.5", "٣"])
def test_a_version_that_is_no_number_cannot_be_compared(version: str) -> None:
    """MTC-01."""
    with pytest.raises(ValueError, match="not a number"):
        version_number(foo("a", rv=version))


@pytest.mark.parametrize(
    ("version", "value"),
    [("", 0.0), ("17", 17.0), ("9123456789012345678", 456789012345678.0), ("abc", None)],
)
def test_a_gauge_shows_the_last_digits(version: str, value: float | None) -> None:
    """CMT-01."""
    assert gauge_value(version) == value
