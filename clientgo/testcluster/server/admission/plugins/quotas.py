"""Resource quotas: what the objects of a namespace may use together.

Promises: a write that would exceed a quota is refused as a real API server does. What is used
follows from the stored objects: it is counted when a quota is first asked, and kept by each change.
Followers are called when it has changed.

Does not promise that an extended resource of a pod counts as a device of its class.

Differs from upstream (apiserver ``plugin/pkg/admission/resourcequota``): there a quota limits
nothing before a controller has written its status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.admission.plugins.quota_usage import (
    PODS,
    Usage,
    counted_objects,
    matches,
    missing_requirements,
    usage_of,
)
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.resources.errors import forbidden
from clientgo.testcluster.server.storage.storage import (
    Change,
    Collection,
    Object,
    Storage,
    StoredObject,
)
from clientgo.util.text.quantities import canonical_quantity, parse_quantity

_QUOTAS = ("", "resourcequotas")
_GROWING = frozenset({("", "services"), ("", "persistentvolumeclaims")})
"""Collections whose objects can use more after an update."""
_BINARY = ("memory", "requests.storage", "ephemeral-storage", "hugepages")
"""Parts of the names of resources whose amounts are shown in powers of 1024."""


class ResourceQuotas:
    """The quotas of all namespaces. Without quotas a write costs one look."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._quotas = storage.collection(_QUOTAS)
        self._by_namespace: dict[str, dict[str, _Quota]] = {}
        self._followers: list[Callable[[str], None]] = []
        for stored in self._quotas.scan():
            self._keep(stored)
        storage.observe(self._observe)

    def follow(self, follower: Callable[[str], None]) -> None:
        """Call ``follower`` with the key of each quota that is new or changes, or its use does."""
        self._followers.append(follower)

    def used(self, key: str) -> dict[str, str]:
        """Return what is used of each resource of a quota, as quantities; nothing if it is gone."""
        namespace, _, name = key.partition("/")
        quota = self._by_namespace.get(namespace, {}).get(name)
        if quota is None:
            return {}
        used = quota.used(self._storage, namespace)
        return {resource: _text(resource, used[resource]) for resource in sorted(quota.hard)}

    def _observe(self, collection: Collection, change: Change) -> None:
        if not self._by_namespace and collection is not self._quotas:
            return
        namespace, slash, _ = change.current.key.partition("/")
        if not slash:  # cluster-scoped: its name may be that of a namespace
            return
        changed = set()
        if collection is self._quotas:
            if change.type is EventType.DELETED:
                self._drop(change.current)
            elif self._keep(change.current) or change.type is EventType.ADDED:
                changed.add(change.current.key)
        for quota in self._by_namespace.get(namespace, {}).values():
            if quota.observe(collection, change):
                changed.add(f"{namespace}/{quota.name}")
        for key in changed:
            for follower in self._followers:
                follower(key)

    def _keep(self, stored: StoredObject) -> bool:
        """Remember a quota; return True if it is new or its spec has changed."""
        namespace, _, name = stored.key.partition("/")
        spec = stored.decode()["spec"]
        quotas = self._by_namespace.setdefault(namespace, {})
        if name in quotas and quotas[name].spec == spec:
            return False
        quotas[name] = _Quota(name, spec)
        return True

    def _drop(self, stored: StoredObject) -> None:
        namespace, _, name = stored.key.partition("/")
        quotas = self._by_namespace.get(namespace, {})
        quotas.pop(name, None)
        if not quotas:
            self._by_namespace.pop(namespace, None)

    def check(self, review: Review) -> None:
        """Refuse a write that exceeds a quota of its namespace.

        Raises:
            FailedRequestError: 403.
        """
        quotas = self._by_namespace.get(review.namespace)
        if not quotas or review.obj is None or review.subresource:
            return
        key = review.resource.collection_key
        if review.operation is not Operation.CREATE and key not in _GROWING:
            return
        for name in sorted(quotas):
            if problem := self._problem(quotas[name], key, review):
                raise forbidden(review.resource, review.name, problem)

    def _problem(self, quota: _Quota, key: tuple[str, str], review: Review) -> str:
        obj = review.obj
        if obj is None or not matches(quota.spec, key, obj):
            return ""
        if key == PODS and (missing := missing_requirements(obj["spec"], quota.hard)):
            return f"failed quota: {quota.name}: must specify {missing}"
        old = review.old
        before = usage_of(key, old) if old is not None and matches(quota.spec, key, old) else {}
        requested = {
            name: amount - before.get(name, Decimal(0))
            for name, amount in usage_of(key, obj).items()
            if name in quota.hard and amount > before.get(name, Decimal(0))
        }
        if not requested:
            return ""
        used = quota.used(self._storage, review.namespace)
        exceeded = sorted(
            name for name, amount in requested.items() if used[name] + amount > quota.hard[name]
        )
        if not exceeded:
            return ""
        return (
            f"exceeded quota: {quota.name}, requested: {_shown(requested, exceeded)}, "
            f"used: {_shown(used, exceeded)}, limited: {_shown(quota.hard, exceeded)}"
        )


class _Quota:
    """One quota, and what is used of it, if a check has asked."""

    def __init__(self, name: str, spec: Object) -> None:
        self.name = name
        self.spec = spec
        self.hard: Usage = {}
        self._collections = set()
        for resource, amount in (spec.get("hard") or {}).items():
            if (collection := counted_objects(resource)) is not None:
                self.hard[resource] = parse_quantity(amount)
                self._collections.add(collection)
        self._used: Usage | None = None

    def used(self, storage: Storage, namespace: str) -> Usage:
        """Return what the stored objects of the namespace use."""
        if self._used is None:
            self._used = dict.fromkeys(self.hard, Decimal(0))
            for key in self._collections:
                for stored in storage.collection(key).scan(namespace):
                    self._add(self._usage(key, stored), 1)
        return self._used

    def observe(self, collection: Collection, change: Change) -> bool:
        """Follow a change of an object of the namespace; return True if its use has changed."""
        key = collection.key
        if self._used is None or key not in self._collections:
            return False
        before = self._usage(key, change.previous)
        after = self._usage(key, None if change.type is EventType.DELETED else change.current)
        self._add(before, -1)
        self._add(after, 1)
        return before != after

    def _usage(self, key: tuple[str, str], stored: StoredObject | None) -> Usage:
        """Return what an object uses of this quota."""
        if stored is None or not matches(self.spec, key, obj := stored.decode()):
            return {}
        return {name: value for name, value in usage_of(key, obj).items() if name in self.hard}

    def _add(self, usage: Usage, times: int) -> None:
        if self._used is not None:
            for name, amount in usage.items():
                self._used[name] += times * amount


def _shown(amounts: Mapping[str, Decimal], names: list[str]) -> str:
    return ",".join(f"{name}={_text(name, amounts[name])}" for name in names)


def _text(name: str, amount: Decimal) -> str:
    is_binary = any(part in name for part in _BINARY) and amount % 1024 == 0
    text: Any = f"{amount / 1024:f}Ki" if is_binary else f"{amount:f}"
    return canonical_quantity(text)
