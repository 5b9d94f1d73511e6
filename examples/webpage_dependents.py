"""The web page of ``examples.webpage``, its objects described instead of written.

The same page, ConfigMap, Service and Deployment: what is to be there is said once for each, and
when it is compared, written or deleted is no longer this program's business.

``python -m examples.webpage_dependents`` runs on the cluster of your kubeconfig;
``python -m examples.webpage_dependents --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, Service
from clientgo.operator import Context, Result, controller
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.sources import watch
from examples.embedded import run_on_your_cluster
from examples.webpage import (
    OURS,
    WebPage,
    WebPageStatus,
    config_map,
    demo,
    deployment,
    new_manager,
    service,
)


class PageText(Dependent[ConfigMap, WebPage]):
    """What the page says."""

    kind = ConfigMap
    labels = OURS

    def desired(self, ctx: Context[WebPage], page: WebPage) -> ConfigMap:
        return config_map(page)


class PageServers(Dependent[Deployment, WebPage]):
    """What serves it, once there is a text to serve."""

    kind = Deployment
    depends_on = (PageText,)

    def desired(self, ctx: Context[WebPage], page: WebPage) -> Deployment:
        return deployment(page)

    def ready(self, ctx: Context[WebPage], page: WebPage, actual: Deployment) -> bool:
        return ready_replicas(actual) == page.spec.replicas


class PageAddress(Dependent[Service, WebPage]):
    """Where it is found, once it is served."""

    kind = Service
    depends_on = (PageServers,)

    def desired(self, ctx: Context[WebPage], page: WebPage) -> Service:
        return service(page)


@controller(
    WebPage,
    owns=[watch(ConfigMap, labels=OURS)],
    dependents=[PageText, PageServers, PageAddress],
)
class DescribedPageReconciler:
    """What is left to do is to tell of it."""

    def reconcile(self, ctx: Context[WebPage], page: WebPage) -> Result:
        running = ctx.secondary(Deployment)
        address = ctx.secondary(Service)
        page.status = WebPageStatus(
            ready_replicas=ready_replicas(running) if running else 0,
            service=address.metadata.name if address else "",
        )
        return Result.status(page)


def ready_replicas(running: Deployment) -> int:
    return (running.status.ready_replicas if running.status else None) or 0


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo(DescribedPageReconciler())
    else:
        run_on_your_cluster(lambda client: new_manager(client, DescribedPageReconciler()), WebPage)
