"""The kinds of patch that an API server takes, by what they are called on the wire."""

from __future__ import annotations

from enum import StrEnum


class PatchKind(StrEnum):
    """The media type of a patch's body. Upstream: apimachinery ``types`` PatchType."""

    JSON = "application/json-patch+json"
    """A list of operations (RFC 6902)."""

    MERGE = "application/merge-patch+json"
    """A partial object; lists are replaced whole (RFC 7386)."""

    STRATEGIC = "application/strategic-merge-patch+json"
    """A partial object; lists are merged by key. Built-in kinds only."""

    APPLY = "application/apply-patch+yaml"
    """What one manager wants of an object (server-side apply)."""
