"""The answer that the API gives when it refuses: the ``Status`` object.

Upstream: apimachinery ``meta/v1`` Status, StatusDetails, StatusCause.
"""

from __future__ import annotations

from msgspec import Struct, field


class StatusCause(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """One reason among several, usually a field of the object that was sent."""

    reason: str = ""
    message: str = ""
    field_: str = field(default="", name="field")


class StatusDetails(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Which object the answer is about, and when to ask again (in seconds)."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = field(default_factory=list)
    retry_after_seconds: int = 0


class Status(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Outcome of a request; ``reason`` is for programs, ``message`` for people."""

    kind: str = ""
    api_version: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = field(default_factory=StatusDetails)
    code: int = 0
