"""From the options of a list to those of a stream of the same list."""

from __future__ import annotations

import pytest

from clientgo.cache import watch_list_options
from clientgo.meta import ListOptions


@pytest.mark.parametrize(
    "options",
    [
        ListOptions(),
        ListOptions(resource_version="10", label_selector="a=b"),
        ListOptions(resource_version="0", limit=500),
        ListOptions(resource_version="10", resource_version_match="NotOlderThan"),
    ],
)
def test_a_list_that_may_be_newer_can_be_streamed(options: ListOptions) -> None:
    """WLS-12."""
    result = watch_list_options(options)
    assert result == ListOptions(
        resource_version=options.resource_version,
        label_selector=options.label_selector,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        send_initial_events=True,
    )


@pytest.mark.parametrize(
    "options",
    [
        ListOptions(continue_="token"),
        ListOptions(limit=500),
        ListOptions(resource_version="10", resource_version_match="Exact"),
        ListOptions(resource_version_match="NotOlderThan"),
        ListOptions(resource_version="10", resource_version_match="bogus"),
        ListOptions(send_initial_events=True),
    ],
)
def test_what_a_stream_cannot_mean_is_not_streamed(options: ListOptions) -> None:
    """WLS-12."""
    assert watch_list_options(options) is None
