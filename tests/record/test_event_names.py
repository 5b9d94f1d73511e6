"""Names of events are unique and legal."""

from __future__ import annotations

import uuid

import pytest

from clientgo.record.event_names import event_name


def test_a_name_is_the_objects_and_the_time_in_hexadecimal() -> None:
    """REC-03"""
    assert event_name("test-pod", 105999103295324396) == "test-pod.178959f726d80ec"


@pytest.mark.parametrize("name", ["system:node", "UPPER", "", "a" * 252, "-a", "a..b"])
def test_a_name_that_no_event_can_begin_with_gives_a_uuid(name: str) -> None:
    """REC-03"""
    assert uuid.UUID(event_name(name, 1)).version == 4
