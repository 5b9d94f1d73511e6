"""The debug page of a manager: leadership, controllers with their queues, informers, threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from clientgo.observe.debug import DebugPage, informer_summary
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.registry import ControllerRegistry


def manager_page(
    registry: ControllerRegistry,
    cache: ObjectCache,
    clusters: Sequence[Cluster],
    standby: Callable[[], str],
) -> DebugPage:
    """Return the page. ``standby`` says why this process does not lead; empty if it does."""

    def controllers() -> dict[str, Any]:
        return {each.name: _of_controller(each) for each in registry.all()}

    def informers() -> dict[str, Any]:
        caches = [("", cache), *((f"{cluster.name}: ", cluster.cache) for cluster in clusters)]
        return {
            f"{prefix}{kind.name}{f' in {namespace}' if namespace else ''}": informer_summary(found)
            for prefix, of_cluster in caches
            for kind in of_cluster.caches()
            for namespace, found in kind.informers().items()
        }

    page = DebugPage()
    page.add("leadership", lambda: {"leads": not standby(), "why": standby() or "-"})
    page.add("controllers", controllers)
    page.add("informers", informers)
    page.explain_with(
        lambda key: [line for each in registry.all() for line in each.explain(key).lines()]
    )
    return page


def _of_controller(controller: Any) -> dict[str, Any]:
    health, now = controller.health(), controller.services.clock.monotonic()
    running, queue = controller.queue.running(), asdict(health.queue)
    due = queue.pop("next_due")
    queue["next_run_in"] = None if due is None else max(due - now, 0.0)
    return {
        "kind": controller.primary.group_resource,
        "namespaces": sorted(name or "all" for name in health.namespaces),
        "queue": queue,
        "running": {str(key): f"{now - began:.3g} s" for key, began in running.items()},
        "workers_alive": health.workers_alive,
        "stuck": health.stuck,
        "sources": {
            source.name: "synced" if source.synced and not source.trouble else source.trouble
            for source in health.sources
        },
    }
