"""What controllers ask about a pod.

Upstream: ``pkg/api/v1/pod`` and ``pkg/controller/controller_utils.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from clientgo.api.core_v1 import Pod
from clientgo.meta.timestamps import parse_time
from clientgo.testcluster.workloads.conditions import find_condition

FINISHED = ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Return True if the pod runs, or will."""
    return pod.status.phase not in FINISHED and not pod.metadata.deletion_timestamp


def is_ready(pod: Pod) -> bool:
    """Return True if the pod is active and serves."""
    ready = find_condition(pod.status.conditions, "Ready")
    return is_active(pod) and ready is not None and ready.status == "True"


def seconds_until_available(pod: Pod, min_ready: int | None, now: float) -> float | None:
    """Return how long until a pod has been ready for long enough; None if it is not ready."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is None or not is_ready(pod):
        return None
    if not min_ready or not ready.last_transition_time:
        return 0.0
    return max(parse_time(ready.last_transition_time) + min_ready - now, 0.0)


class Availability:
    """How many pods are ready, how many available, and when one more will be."""

    def __init__(self, pods: Iterable[Pod], min_ready: int | None, now: float) -> None:
        waits = [seconds_until_available(pod, min_ready, now) for pod in pods]
        self.ready = sum(wait is not None for wait in waits)
        self.available = sum(wait == 0 for wait in waits)
        self.next = min((wait for wait in waits if wait), default=None)
        """Seconds; None if no pod waits."""


def deletion_cost(pod: Pod) -> tuple[object, ...]:
    """Order pods for a deletion: first what serves least, and of equals the youngest."""
    return (
        bool(pod.spec.node_name),
        pod.status.phase == "Running",
        is_ready(pod),
        -parse_time(pod.metadata.creation_timestamp) if pod.metadata.creation_timestamp else 0,
        pod.metadata.name,
    )
