"""Cells of pods: a status that is more precise than the phase.

Upstream: ``printPod`` in ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    conditions,
    find,
    is_deleted,
    text,
)
from clientgo.testcluster.server.resources.columns import age_since
from clientgo.testcluster.server.storage.storage import Object

_OVER = ("Succeeded", "Failed")
"""Phases that a pod does not leave."""

_NODE_LOST = "NodeLost"


class _Summary(msgspec.Struct):
    """The sum of the statuses of a pod's containers."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def add_restarts(self, status: Object) -> None:
        self.restarts += status.get("restartCount", 0)
        finished = find(status, "lastState.terminated.finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)


def _summarize(pod: Object) -> _Summary:
    spec, status = pod["spec"], pod.get("status", {})
    sidecars = {item["name"] for item in spec.get("initContainers", ()) if _is_sidecar(item)}
    summary = _Summary(_phase(status))
    of_sidecars = _Summary("")
    blocked = _initialize(
        summary, of_sidecars, status, len(spec.get("initContainers", ())), sidecars
    )
    if not blocked or conditions(pod).get("Initialized") == "True":
        summary.restarts, summary.last_restart = of_sidecars.restarts, of_sidecars.last_restart
        _run(summary, status.get("containerStatuses", ()), conditions(pod))
    if is_deleted(pod):
        if status.get("reason") == _NODE_LOST:
            summary.reason = "Unknown"
        elif status.get("phase") not in _OVER:
            summary.reason = "Terminating"
    return summary


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _phase(status: Object) -> str:
    for item in status.get("conditions", ()):
        if item["type"] == "PodScheduled" and item.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase", ""))


def _initialize(
    summary: _Summary, of_sidecars: _Summary, status: Object, total: int, sidecars: set[str]
) -> bool:
    """Add the init containers; return True if one of them has not finished."""
    for place, item in enumerate(status.get("initContainerStatuses", ())):
        summary.add_restarts(item)
        is_sidecar = item.get("name") in sidecars
        if is_sidecar:
            of_sidecars.add_restarts(item)
        state = item.get("state", {})
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated and terminated.get("exitCode", 0) == 0:
            continue
        if is_sidecar and item.get("started"):
            summary.ready += bool(item.get("ready"))
            continue
        if terminated:
            summary.reason = f"Init:{_ending(terminated)}"
        elif waiting.get("reason", "PodInitializing") != "PodInitializing":
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{place}/{total}"
        return True
    return False


def _run(summary: _Summary, statuses: Iterable[Object], met: dict[str, str]) -> None:
    """Add the containers; the first that does not run gives the reason."""
    is_running = False
    for item in reversed(list(statuses)):
        summary.add_restarts(item)
        state = item.get("state", {})
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            summary.reason = waiting["reason"]
        elif terminated:
            summary.reason = _ending(terminated)
        elif item.get("ready") and "running" in state:
            is_running = True
            summary.ready += 1
    if summary.reason == "Completed" and is_running:
        summary.reason = "Running" if met.get("Ready") == "True" else "NotReady"


def _ending(terminated: Object) -> str:
    """Return the reason, signal or exit code of a terminated container."""
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def ready(pod: Object) -> str:
    """Return the number of ready containers and of all."""
    spec = pod["spec"]
    sidecars = sum(map(_is_sidecar, spec.get("initContainers", ())))
    return f"{_summarize(pod).ready}/{len(spec.get('containers', ())) + sidecars}"


def status(pod: Object) -> str:
    """Return the status of the pod: its phase, or the reason of a container."""
    return _summarize(pod).reason


def restarts(pod: Object) -> str:
    """Return the number of restarts and the time since the last one."""
    summary = _summarize(pod)
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({age_since(summary.last_restart)} ago)"
    return str(summary.restarts)


def address(pod: Object) -> str:
    """Return the address of a pod."""
    addresses: list[Any] = find(pod, "status.podIPs") or []
    return str(addresses[0]["ip"]) if addresses else text("status.podIP", NONE)(pod)


def readiness_gates(pod: Object) -> str:
    """Return the number of passed readiness gates and of all."""
    gates = [item["conditionType"] for item in pod["spec"].get("readinessGates", ())]
    met = conditions(pod)
    return f"{sum(met.get(gate) == 'True' for gate in gates)}/{len(gates)}" if gates else NONE
