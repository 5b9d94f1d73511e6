"""Admission webhooks (none yet): what outsiders say about a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.apiserver.admission import Review
    from clientgo.apiserver.cluster import Cluster


class Webhooks:
    """The registered webhooks."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def mutate(self, review: Review) -> None:
        """Let mutating webhooks change the object."""

    async def validate(self, review: Review) -> None:
        """Let validating webhooks refuse the write."""
