"""Names under which informers report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.cache import InformerName
from clientgo.meta import GroupVersionResource

FOOS = GroupVersionResource("example.com", "v1", "foos")
BARS = GroupVersionResource("example.com", "v1", "bars")


@pytest.fixture
def name() -> Iterator[InformerName]:
    with InformerName("controller") as made:
        yield made


def test_a_name_is_used_once_at_a_time(name: InformerName) -> None:
    """CMT-03."""
    with pytest.raises(ValueError, match="in use"):
        InformerName("controller")
    name.release()
    with InformerName("controller"):
        pass


def test_it_must_not_be_empty() -> None:
    """CMT-03."""
    with pytest.raises(ValueError, match="empty"):
        InformerName("")


def test_each_resource_is_reported_by_its_first_informer(
    name: InformerName, caplog: pytest.LogCaptureFixture
) -> None:
    """CMT-03."""
    assert name.with_resource(FOOS).is_reserved()
    assert not name.with_resource(FOOS).is_reserved()
    assert name.with_resource(BARS).is_reserved()
    assert "this one reports no metrics" in caplog.text


def test_a_released_name_turns_its_informers_off(name: InformerName) -> None:
    """CMT-03: releasing it again has no effect."""
    foos = name.with_resource(FOOS)
    name.release()
    assert not foos.is_reserved()
    with InformerName("controller") as successor:
        name.release()
        assert successor.with_resource(FOOS).is_reserved()


def test_the_labels_name_the_informer_and_its_resource(name: InformerName) -> None:
    """CMT-01."""
    assert name.with_resource(FOOS).labels() == {
        "name": "controller",
        "group": "example.com",
        "version": "v1",
        "resource": "foos",
    }
