"""What a watch stream says: something was added, changed or removed; or the stream itself speaks.

Upstream: apimachinery ``watch`` Event and EventType.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class EventType(StrEnum):
    """The known types. A server may send others, so an event's type is text."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streamed initial list."""


class WatchEvent(Struct, Generic[T], gc=False):
    """One event: ``object`` is the state after the change, for DELETED the last one.

    A BOOKMARK's object carries a resource version only; an ERROR's is a
    :class:`~clientgo.meta.status.Status`.
    """

    type: str
    object: T
