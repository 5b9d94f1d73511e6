"""What a resource is called: the names by which errors and strategies refer to it.

A :class:`~clientgo.testcluster.server.resources.resource.Resource` is a ``ResourceType`` with a
strategy and what discovery answers about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False)
class ResourceType:
    """Group, version, kind and plural name of a resource."""

    group: str
    version: str
    kind: str
    plural: str

    @cached_property
    def api_version(self) -> str:
        """Return ``group/version``; the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def qualified_name(self) -> str:
        """Return the plural name with its group, as in ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def qualified_kind(self) -> str:
        """Return the kind with its group, as in ``Deployment.apps``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def as_kind(self, kind: str) -> ResourceType:
        """Return the type under another kind's name, for messages about a wrong kind."""
        return ResourceType(self.group, self.version, kind, self.plural)

    def in_group(self, group: str) -> ResourceType:
        """Return the type under another group's name, for messages."""
        return ResourceType(group, self.version, self.kind, self.plural)
