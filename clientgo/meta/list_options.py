"""What a list or a watch may ask for.

Upstream: apimachinery ``meta/v1`` ListOptions. An empty string and ``None`` mean "not asked".
"""

from __future__ import annotations

from msgspec import Struct


class ListOptions(Struct, frozen=True, kw_only=True):
    """Options of list and watch requests; ``msgspec.structs.replace`` makes a changed copy.

    ``resource_version`` and ``resource_version_match`` say how fresh the answer must be, ``limit``
    and ``continue_`` cut a list into pages, ``timeout_seconds`` is when the server ends a watch.
    """

    resource_version: str = ""
    resource_version_match: str = ""
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None

    def as_query(self) -> list[tuple[str, str]]:
        """The query parameters of these options, without those that were not asked."""
        asked: list[tuple[str, str]] = []
        for name, value in (
            ("labelSelector", self.label_selector),
            ("fieldSelector", self.field_selector),
            ("resourceVersion", self.resource_version),
            ("resourceVersionMatch", self.resource_version_match),
            ("continue", self.continue_),
        ):
            if value:
                asked.append((name, value))
        if self.limit:
            asked.append(("limit", str(self.limit)))
        if self.timeout_seconds is not None:
            asked.append(("timeoutSeconds", str(self.timeout_seconds)))
        if self.allow_watch_bookmarks:
            asked.append(("allowWatchBookmarks", "true"))
        if self.send_initial_events is not None:
            asked.append(("sendInitialEvents", str(self.send_initial_events).lower()))
        return asked
