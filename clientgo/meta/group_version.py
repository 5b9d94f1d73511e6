"""The names of kinds and resources: group, version and kind, or group, version and plural.

Immutable values with the API's text forms (`apps/v1`). A :class:`~clientgo.meta.Scheme` maps kinds
to resources. Differs from apimachinery `runtime/schema`: what is known about a resource type is one
:class:`APIResource`.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class GroupVersion(NamedTuple):
    """A group and a version; the core group is the empty string."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read ``apps/v1`` or ``v1``; more than one slash is a ``ValueError``."""
        group, slash, version = api_version.rpartition("/")
        if "/" in group or (slash and not group):
            raise ValueError(f"not an apiVersion: {api_version!r}; write group/version or version")
        return cls(group, version)


class GroupVersionKind(NamedTuple):
    """What an object says that it is: ``apps/v1, Kind=Deployment``."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    """Where an object is served: ``apps/v1, Resource=deployments``."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    def __str__(self) -> str:
        return f"{self.api_version}, Resource={self.resource}"


class APIResource(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a client needs to know of one resource type (upstream: ``metav1.APIResource``).

    ``subresources`` holds the names under an object's path that are served, such as ``status``.
    """

    group: str = ""
    version: str
    kind: str
    plural: str
    singular: str = ""
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.plural)

    @property
    def group_resource(self) -> str:
        """The text form in messages: ``deployments.apps``, or ``pods`` in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
