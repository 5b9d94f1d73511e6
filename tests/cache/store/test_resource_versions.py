"""The resource version of anything that a store can be given."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.cache.store.resource_versions import gauge_value, version_of
from clientgo.meta import ExplicitKey
from tests.cache.builders import foo


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (foo("a", rv=7), "7"),
        (foo("a", rv=""), ""),
        ({"metadata": {"resourceVersion": "12"}}, "12"),
        (DeletedFinalStateUnknown("ns/a", foo("a", rv=7)), None),
        (ExplicitKey("ns/a"), None),
        (5, None),
    ],
)
def test_only_an_object_has_a_version(obj: Any, text: str | None) -> None:
    """STO-08."""
    assert version_of(obj) == text


@pytest.mark.parametrize(
    ("version", "value"),
    [("", 0.0), ("17", 17.0), ("9123456789012345678", 456789012345678.0), ("abc", None)],
)
def test_a_gauge_shows_the_last_digits(version: str, value: float | None) -> None:
    """CMT-01."""
    assert gauge_value(version) == value
