"""The answer that the API gives when it refuses: the ``Status`` object.

Upstream: apimachinery ``meta/v1`` Status, StatusDetails, StatusCause.
"""

from __future__ import annotations

from msgspec import Struct, field

from clientgo.meta.objects.object_meta import ListMeta


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
    """Outcome of a request; ``reason`` is for programs, ``message`` for people.

    ``metadata`` has a resource version if an object was deleted, since Kubernetes 1.37.
    """

    kind: str = ""
    api_version: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = field(default_factory=StatusDetails)
    code: int = 0
