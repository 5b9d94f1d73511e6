"""How many pods each ReplicaSet of a Deployment has next, as a rollout goes on.

Promises that a rolling update never has more pods than ``maxSurge`` allows, nor fewer that are
available than ``maxUnavailable`` allows.

Upstream: ``pkg/controller/deployment/rolling.go`` and ``sync.go``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clientgo.api.apps_v1 import Deployment, ReplicaSet
from clientgo.api.wire import IntOrString
from clientgo.testcluster.workloads.controllers.owner import wanted_replicas

Sizes = dict[str, int]
"""Wanted replicas by the name of the ReplicaSet."""


@dataclass(frozen=True)
class Limits:
    """How many pods a rolling update may have beyond and below what is wanted."""

    surge: int
    unavailable: int


def share(value: IntOrString | None, total: int, *, up: bool) -> int:
    """Return a number of pods, or a percentage of them, as a number."""
    if isinstance(value, str):
        exact = int(value.removesuffix("%")) * total / 100
        return math.ceil(exact) if up else math.floor(exact)
    return value or 0


def limits_of(deployment: Deployment) -> Limits:
    """Return the limits of a Deployment's strategy; at least one of them is not 0."""
    rolling, total = deployment.spec.strategy.rolling_update, wanted_replicas(deployment)
    if deployment.spec.strategy.type == "Recreate" or rolling is None:
        return Limits(0, 0)
    surge = share(rolling.max_surge, total, up=True)
    unavailable = share(rolling.max_unavailable, total, up=False)
    return Limits(surge, unavailable if surge or unavailable else 1)


def size(sets: Sequence[ReplicaSet]) -> int:
    """Return the pods that ReplicaSets want."""
    return sum(map(wanted_replicas, sets))


def available(sets: Sequence[ReplicaSet]) -> int:
    """Return the pods of ReplicaSets that are available."""
    return sum(each.status.available_replicas or 0 for each in sets)


def roll(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Sizes:
    """Return the ReplicaSets that change in the next step of a rolling update."""
    limits, wanted = limits_of(deployment), wanted_replicas(deployment)
    total = size([new, *old])
    if wanted_replicas(new) > wanted:
        return {new.metadata.name: wanted}
    room = min(wanted + limits.surge - total, wanted - wanted_replicas(new))
    if room > 0:
        return {new.metadata.name: wanted_replicas(new) + room}
    return _shrink(new, old, minimum=wanted - limits.unavailable)


def _shrink(new: ReplicaSet, old: Sequence[ReplicaSet], minimum: int) -> Sizes:
    """Take pods from old ReplicaSets, those first that do not serve anyhow."""
    sizes = {each.metadata.name: wanted_replicas(each) for each in old}
    starting = wanted_replicas(new) - (new.status.available_replicas or 0)
    spare = size([new, *old]) - minimum - starting
    for each in old:
        unhealthy = sizes[each.metadata.name] - (each.status.available_replicas or 0)
        taken = max(min(spare, unhealthy), 0)
        sizes[each.metadata.name] -= taken
        spare -= taken
    spare = min(spare, available([new, *old]) - minimum)
    for each in old:
        taken = max(min(spare, sizes[each.metadata.name]), 0)
        sizes[each.metadata.name] -= taken
        spare -= taken
    return _changed(sizes, old)


def recreate(deployment: Deployment, new: ReplicaSet, *, old_pods: bool) -> Sizes:
    """Return the new ReplicaSet's size once no old pod is left."""
    return {} if old_pods else _changed({new.metadata.name: wanted_replicas(deployment)}, [new])


def stop(sets: Sequence[ReplicaSet]) -> Sizes:
    """Return the ReplicaSets that still want pods, with none."""
    return _changed(dict.fromkeys((each.metadata.name for each in sets), 0), sets)


def resize(deployment: Deployment, sets: Sequence[ReplicaSet]) -> Sizes:
    """Spread a new number of replicas over the ReplicaSets of a rollout, as they are now.

    ``sets`` begins with the newest. What rounding leaves is the newest's, or the largest's.
    """
    active = [each for each in sets if wanted_replicas(each)]
    limits, wanted = limits_of(deployment), wanted_replicas(deployment)
    if len(active) <= 1:
        return _changed({(active or sets)[0].metadata.name: wanted}, sets) if sets else {}
    allowed = wanted + limits.surge if wanted else 0
    total = size(active)
    sizes = {each.metadata.name: round(wanted_replicas(each) * allowed / total) for each in active}
    first = active[0].metadata.name
    sizes[first] = max(sizes[first] + allowed - sum(sizes.values()), 0)
    return _changed(sizes, active)


def _changed(sizes: Sizes, sets: Sequence[ReplicaSet]) -> Sizes:
    now = {each.metadata.name: wanted_replicas(each) for each in sets}
    return {name: count for name, count in sizes.items() if now.get(name) != count}
