"""The documents of discovery, in both forms.

The plain documents (groups, then resources for each version) and the aggregated one give the same
values. Source: apimachinery `meta/v1` APIGroup and APIResourceList, `apidiscovery` v2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from clientgo.meta import APIResource, DecodeError, GroupVersion, error_from_status
from clientgo.meta.decoding import decode
from clientgo.meta.wire.answers import described, shown, status_in, type_of
from clientgo.meta.wire.outer_json import REFUSALS
from clientgo.util.copies import CopyableError

T = TypeVar("T")

AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
"""Accepts the aggregated document in the two versions that servers have spoken."""


class ServedResource(APIResource, frozen=True, kw_only=True):
    """A resource as discovery describes it; of a subresource ``plural`` is like ``pods/log``."""

    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def is_subresource(self) -> bool:
        return "/" in self.plural


class APIGroup(Struct, frozen=True):
    """A group and the versions that it is served in, the most wanted first."""

    name: str
    versions: tuple[GroupVersion, ...]
    preferred: GroupVersion | None


class StaleGroupVersionError(CopyableError):
    """The server knows a version only from before it lost the extension that serves it."""


class GroupDiscoveryError(CopyableError):
    """Some versions could not be discovered; ``failed`` says which and why."""

    def __init__(self, failed: Mapping[GroupVersion, Exception]) -> None:
        reasons = "; ".join(f"{version}: {failed[version]}" for version in sorted(failed, key=str))
        super().__init__(
            f"not everything that the server offers is known ({reasons}); an extension API server "
            "may be down"
        )
        self.failed = failed


class Discovered(Struct, frozen=True):
    """What is served, and which versions could not be asked."""

    groups: tuple[APIGroup, ...]
    resources: Mapping[GroupVersion, tuple[ServedResource, ...]] = field(default_factory=dict)
    failed: Mapping[GroupVersion, Exception] = field(default_factory=dict)

    @property
    def error(self) -> GroupDiscoveryError | None:
        """The failures as one error; None when there were none."""
        return GroupDiscoveryError(self.failed) if self.failed else None

    def filtered(self, wanted: Callable[[ServedResource], bool]) -> Discovered:
        """The same with just the wanted resources, and no versions that have none of them."""
        kept = {
            version: tuple(filter(wanted, resources))
            for version, resources in self.resources.items()
        }
        return Discovered(
            self.groups,
            {version: resources for version, resources in kept.items() if resources},
            self.failed,
        )

    def supporting(self, *verbs: str) -> Discovered:
        """The same with just the resources that have all these verbs, such as list and watch."""
        return self.filtered(lambda resource: set(verbs) <= set(resource.verbs))

    def __iter__(self) -> Iterator[ServedResource]:
        """Every resource, group by group in the server's order, subresources included."""
        for group in self.groups:
            for version in group.versions:
                yield from self.resources.get(version, ())


def is_aggregated(content_type: str) -> bool:
    """Return True if a response of this content type is the aggregated document."""
    media_type, *parameters = (part.strip() for part in content_type.split(";"))
    given = dict(parameter.partition("=")[::2] for parameter in parameters)
    return (
        media_type == "application/json"
        and given.get("g") == "apidiscovery.k8s.io"
        and given.get("v") in ("v2", "v2beta1")
        and given.get("as") == "APIGroupDiscoveryList"
    )


def _document(raw: bytes, kind: str, into: type[T], field_: str) -> T:
    """Read a document that lists something in one field, which must be there.

    A field left out, or a null of an answer that does not say what it is, may be any gateway's
    answer. Raises :class:`~clientgo.meta.StatusError` for a Status of failure.
    """
    what = f"a discovery document ({kind})"
    said = type_of(raw, what)
    if said.kind not in ("", kind):
        if status := status_in(raw, what):
            raise error_from_status(status)
        raise DecodeError(f"not {what} but {described(said)}; got {shown(raw)}")
    try:
        document = decode(raw, into)
    except REFUSALS as error:
        raise DecodeError(f"not {what}: {error}; got {shown(raw)}") from error
    if getattr(document, field_) is None and not said.kind:
        raise DecodeError(f"not {what}: it has no {field_}; got {shown(raw)}")
    return document


# The plain documents


class _Version(Struct, rename="camel"):
    group_version: str


class _Group(Struct, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version | None = None


class _GroupList(Struct):
    groups: list[_Group] | None


class _CoreVersions(Struct):
    versions: list[str] | None


class _Resource(Struct, rename="camel"):
    name: str
    kind: str
    singular_name: str = ""
    namespaced: bool = False
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...] | None = None
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None


class _ResourceList(Struct):
    resources: list[_Resource] | None


def core_group(raw: bytes) -> APIGroup:
    """The core group, from ``/api``."""
    names = _document(raw, "APIVersions", _CoreVersions, "versions").versions or []
    return _group("", [GroupVersion("", name) for name in names])


def named_groups(raw: bytes) -> tuple[APIGroup, ...]:
    """The other groups, from ``/apis``."""
    groups = []
    for group in _document(raw, "APIGroupList", _GroupList, "groups").groups or []:
        found = _group(group.name, [GroupVersion.parse(v.group_version) for v in group.versions])
        if group.preferred_version is not None:
            preferred = GroupVersion.parse(group.preferred_version.group_version)
            found = msgspec.structs.replace(found, preferred=preferred)
        groups.append(found)
    return tuple(groups)


def resources_of(version: GroupVersion, raw: bytes) -> tuple[ServedResource, ...]:
    """The resources of one version, from ``/api/v1`` or ``/apis/apps/v1``."""
    listed = _document(raw, "APIResourceList", _ResourceList, "resources").resources or []
    subresources: dict[str, list[str]] = {}
    for resource in listed:
        parent, slash, name = resource.name.partition("/")
        if slash:
            subresources.setdefault(parent, []).append(name)
    return tuple(
        ServedResource(
            group=resource.group or version.group,
            version=resource.version or version.version,
            kind=resource.kind,
            plural=resource.name,
            singular=resource.singular_name,
            namespaced=resource.namespaced,
            subresources=tuple(subresources.get(resource.name, ())),
            short_names=resource.short_names or (),
            verbs=resource.verbs or (),
            categories=resource.categories or (),
        )
        for resource in listed
    )


# The aggregated document


class _Kind(Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _AggregatedSubresource(Struct, rename="camel"):
    subresource: str
    response_kind: _Kind | None = None
    verbs: tuple[str, ...] = ()


class _AggregatedResource(Struct, rename="camel"):
    resource: str
    response_kind: _Kind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: list[_AggregatedSubresource] = []


class _AggregatedVersion(Struct):
    version: str
    freshness: str = ""
    resources: list[_AggregatedResource] = []


class _Name(Struct):
    name: str = ""


class _AggregatedGroup(Struct):
    versions: list[_AggregatedVersion]
    metadata: _Name = field(default_factory=_Name)


class _AggregatedList(Struct):
    items: list[_AggregatedGroup] | None


def aggregated(raw: bytes) -> Discovered:
    """Groups and resources from the aggregated form of ``/api`` or ``/apis``.

    Versions that the server marks as stale are left out and count as failed.
    """
    groups = []
    resources: dict[GroupVersion, tuple[ServedResource, ...]] = {}
    failed: dict[GroupVersion, Exception] = {}
    document = _document(raw, "APIGroupDiscoveryList", _AggregatedList, "items")
    for group in document.items or []:
        fresh = []
        for version in group.versions:
            name = GroupVersion(group.metadata.name, version.version)
            if version.freshness == "Stale":
                failed[name] = StaleGroupVersionError(f"the server's knowledge of {name} is stale")
                continue
            fresh.append(name)
            resources[name] = tuple(_aggregated_resources(name, version.resources))
        groups.append(_group(group.metadata.name, fresh))
    return Discovered(tuple(groups), resources, failed)


def _aggregated_resources(
    version: GroupVersion, listed: list[_AggregatedResource]
) -> Iterator[ServedResource]:
    for resource in listed:
        namespaced = resource.scope == "Namespaced"
        served = [sub for sub in resource.subresources if sub.response_kind is not None]
        if resource.response_kind is not None:
            yield ServedResource(
                **_kind(version, resource.response_kind),
                plural=resource.resource,
                singular=resource.singular_resource,
                namespaced=namespaced,
                subresources=tuple(sub.subresource for sub in served),
                short_names=resource.short_names,
                verbs=resource.verbs,
                categories=resource.categories,
            )
        for sub in served:
            yield ServedResource(
                **_kind(version, sub.response_kind),
                plural=f"{resource.resource}/{sub.subresource}",
                namespaced=namespaced,
                verbs=sub.verbs,
            )


def _kind(version: GroupVersion, kind: _Kind | None) -> dict[str, Any]:
    """Group, version and kind of what a path answers with; empty ones are those of the path."""
    said = kind or _Kind()
    if not said.version:
        return {"group": version.group, "version": version.version, "kind": said.kind}
    return {"group": said.group, "version": said.version, "kind": said.kind}


def _group(name: str, versions: list[GroupVersion]) -> APIGroup:
    return APIGroup(name, tuple(versions), versions[0] if versions else None)
