"""What a list or a watch may ask for.

Upstream: apimachinery ``meta/v1`` ListOptions. An empty string and ``None`` mean "not asked".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field


class ListOptions(Struct, frozen=True, kw_only=True):
    """Options of list and watch requests; ``msgspec.structs.replace`` makes a changed copy.

    ``resource_version`` and ``resource_version_match`` say how fresh the answer must be, ``limit``
    and ``continue_`` cut a list into pages, ``timeout_seconds`` is when the server ends a watch.
    ``shard_selector`` asks for a part of the objects, see :func:`~clientgo.meta.shard_range`.

    ``parameters`` are sent as they are, by their names in the query: for options of a server that
    this library does not know. Raises ``ValueError`` for one that has a field here.
    """

    resource_version: str = ""
    resource_version_match: str = ""
    label_selector: str = ""
    field_selector: str = ""
    shard_selector: str = ""
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if known := self.parameters.keys() & _FIELDS.keys():
            name = min(known)
            raise ValueError(f"set {name} as ListOptions({_FIELDS[name]}=...), not as a parameter")

    def __hash__(self) -> int:
        return hash(tuple(self.as_query()))

    def as_query(self) -> list[tuple[str, str]]:
        """Return the query parameters of these options, without those that were not asked."""
        asked: list[tuple[str, str]] = []
        for name, attribute in _FIELDS.items():
            value = getattr(self, attribute)
            if value != getattr(_NOTHING_ASKED, attribute):
                asked.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
        asked.extend(self.parameters.items())
        return asked


_FIELDS: Final = {
    "labelSelector": "label_selector",
    "fieldSelector": "field_selector",
    "shardSelector": "shard_selector",
    "resourceVersion": "resource_version",
    "resourceVersionMatch": "resource_version_match",
    "continue": "continue_",
    "limit": "limit",
    "timeoutSeconds": "timeout_seconds",
    "allowWatchBookmarks": "allow_watch_bookmarks",
    "sendInitialEvents": "send_initial_events",
}
"""The field of each parameter that has one."""

_NOTHING_ASKED: Final = ListOptions()
