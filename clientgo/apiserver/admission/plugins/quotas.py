"""Resource quotas: what the objects of a namespace may use together.

Promises: a write that would exceed a quota is refused as a real API server does. What is used
follows from the stored objects: it is counted when a quota is first asked, and kept by each change.

Does not promise the status of quotas, which a controller writes, nor devices and storage classes.

Differs from upstream (apiserver ``plugin/pkg/admission/resourcequota``): there a quota limits
nothing before a controller has written its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from clientgo.apiserver.admission.plugins.quota_usage import (
    PODS,
    Usage,
    matches,
    missing_requirements,
    usage_of,
)
from clientgo.apiserver.objects.admission import Operation, Review
from clientgo.apiserver.resources.errors import forbidden
from clientgo.apiserver.storage.storage import (
    Change,
    Collection,
    Object,
    Storage,
    StoredObject,
)
from clientgo.meta.watch_event import EventType
from clientgo.text.quantities import canonical_quantity, parse_quantity

_QUOTAS = ("", "resourcequotas")
_GROWING = frozenset({("", "services"), ("", "persistentvolumeclaims")})
"""Collections whose objects can use more after an update."""
_PER_COLLECTION = "count/"
_ALL_OF_CORE = frozenset(
    {
        *("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers"),
        *("resourcequotas", "secrets", "services"),
    }
)


class ResourceQuotas:
    """The quotas of all namespaces. Without quotas a write costs one look."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._quotas = storage.collection(_QUOTAS)
        self._by_namespace: dict[str, dict[str, _Quota]] = {}
        for stored in self._quotas.scan():
            self._keep(stored)
        storage.observe(self._observe)

    def _observe(self, collection: Collection, change: Change) -> None:
        if not self._by_namespace and collection is not self._quotas:
            return
        namespace = change.current.key.partition("/")[0]
        if collection is self._quotas:
            if change.type is EventType.DELETED:
                self._drop(change.current)
            else:
                self._keep(change.current)
        for quota in self._by_namespace.get(namespace, {}).values():
            quota.observe(collection, change)

    def _keep(self, stored: StoredObject) -> None:
        namespace, _, name = stored.key.partition("/")
        quota = _Quota(name, stored.decode()["spec"])
        self._by_namespace.setdefault(namespace, {})[name] = quota

    def _drop(self, stored: StoredObject) -> None:
        namespace, _, name = stored.key.partition("/")
        quotas = self._by_namespace.get(namespace, {})
        quotas.pop(name, None)
        if not quotas:
            self._by_namespace.pop(namespace, None)

    def check(self, review: Review) -> None:
        """Refuse a write that exceeds a quota of its namespace.

        Raises:
            RequestError: 403.
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
        before = usage_of(key, review.old) if review.old is not None else {}
        requested = {
            name: amount - before.get(name, Decimal(0))
            for name, amount in usage_of(key, obj).items()
            if name in quota.hard and amount > before.get(name, Decimal(0))
        }
        if not requested:
            return ""
        used = quota.used(self._storage, review.namespace)
        exceeded = sorted(
            name
            for name, amount in requested.items()
            if used.get(name, Decimal(0)) + amount > quota.hard[name]
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
        self.hard: Usage = {
            resource: parse_quantity(amount)
            for resource, amount in (spec.get("hard") or {}).items()
        }
        self._used: Usage | None = None

    def used(self, storage: Storage, namespace: str) -> Usage:
        """Return what the stored objects of the namespace use."""
        if self._used is None:
            self._used = {}
            for key in set(self._collections()):
                for stored in storage.collection(key).scan(namespace):
                    self._add(key, stored.decode(), 1)
        return self._used

    def _collections(self) -> Iterator[tuple[str, str]]:
        """Yield the collections whose objects count."""
        for resource in self.hard:
            if resource.startswith(_PER_COLLECTION):
                plural, _, group = resource.removeprefix(_PER_COLLECTION).partition(".")
                yield group, plural
            elif resource in _ALL_OF_CORE:
                yield "", resource
            elif resource.startswith("services."):
                yield "", "services"
            elif resource == "requests.storage":
                yield "", "persistentvolumeclaims"
            else:
                yield PODS

    def observe(self, collection: Collection, change: Change) -> None:
        """Follow a change of an object of the namespace."""
        key = (collection.group, collection.plural)
        if self._used is None or key not in set(self._collections()):
            return
        if change.previous is not None:
            self._add(key, change.previous.decode(), -1)
        if change.type is not EventType.DELETED:
            self._add(key, change.current.decode(), 1)

    def _add(self, key: tuple[str, str], obj: Object, times: int) -> None:
        if self._used is None or not matches(self.spec, key, obj):
            return
        for name, amount in usage_of(key, obj).items():
            if name in self.hard:
                self._used[name] = self._used.get(name, Decimal(0)) + times * amount


def _shown(amounts: Mapping[str, Decimal], names: list[str]) -> str:
    return ",".join(f"{name}={_text(name, amounts.get(name, Decimal(0)))}" for name in names)


def _text(name: str, amount: Decimal) -> str:
    is_binary = ("memory" in name or "storage" in name) and amount % 1024 == 0
    text: Any = f"{amount / 1024:f}Ki" if is_binary else f"{amount:f}"
    return canonical_quantity(text)
