"""Converts the options of a list into those of a watch that streams the same list.

Upstream: ``util/watchlist``.
"""

from __future__ import annotations

import msgspec

from clientgo.meta import ListOptions

NOT_OLDER_THAN = "NotOlderThan"


def watch_list_options(options: ListOptions) -> ListOptions | None:
    """Return options of a watch that starts with what a list with ``options`` would return.

    Returns ``None`` for what cannot be streamed: pages, an exact resource version, and options
    that the server would refuse for a list.
    """
    if options.continue_ or options.send_initial_events is not None:
        return None
    # The server's cache ignores a limit at resource version 0, so the answer is the whole list.
    if options.limit and options.resource_version != "0":
        return None
    match = options.resource_version_match
    if match and (match != NOT_OLDER_THAN or not options.resource_version):
        return None
    return msgspec.structs.replace(
        options,
        limit=0,
        resource_version_match=NOT_OLDER_THAN,
        allow_watch_bookmarks=True,
        send_initial_events=True,
    )
