"""What list and watch send."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import fields

from clientgo.meta import ListOptions

ASKED: dict[str, tuple[Any, str, str]] = {
    "resource_version": ("5", "resourceVersion", "5"),
    "resource_version_match": ("Exact", "resourceVersionMatch", "Exact"),
    "label_selector": ("a=b", "labelSelector", "a=b"),
    "field_selector": ("a=b", "fieldSelector", "a=b"),
    "shard_selector": ("shardRange(x)", "shardSelector", "shardRange(x)"),
    "limit": (5, "limit", "5"),
    "continue_": ("token", "continue", "token"),
    "timeout_seconds": (0, "timeoutSeconds", "0"),
    "allow_watch_bookmarks": (True, "allowWatchBookmarks", "true"),
    "send_initial_events": (False, "sendInitialEvents", "false"),
    "parameters": ({"newOption": "New"}, "newOption", "New"),
}


def test_nothing_is_sent_that_was_not_asked() -> None:
    """LWT-04."""
    assert ListOptions().as_query() == []


@pytest.mark.parametrize("name", [field.name for field in fields(ListOptions)])
def test_each_option_is_sent_by_its_name(name: str) -> None:
    """LWT-06: and those of a newer server by theirs."""
    value, parameter, text = ASKED[name]

    options = ListOptions(**{name: value})

    assert options.as_query() == [(parameter, text)]
    assert hash(options) == hash(ListOptions(**{name: value}))


@pytest.mark.parametrize("name", [name for name in ASKED if name != "parameters"])
def test_a_parameter_that_is_an_option_is_refused(name: str) -> None:
    """LWT-06: it would be sent twice."""
    _, parameter, text = ASKED[name]
    with pytest.raises(ValueError, match=rf"as ListOptions\({name}="):
        ListOptions(parameters={parameter: text})
