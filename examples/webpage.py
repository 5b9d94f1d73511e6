"""A web page as one object: the operator keeps a ConfigMap, a Deployment and a Service for it.

``python -m examples.webpage`` runs on the cluster of your kubeconfig;
``python -m examples.webpage --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys
from hashlib import sha256

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    Volume,
    VolumeMount,
)
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.meta.markers import AGE, CustomResource, PrinterColumn
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.sources import watch
from clientgo.operator.status import ObservedGeneration
from examples.embedded import embedded, manager_of, run_on_your_cluster, see

HASH = "example.com/page-hash"
OURS = {"app.kubernetes.io/managed-by": "webpage"}
"""The label of what the operator makes. A cluster has many ConfigMaps; only these are cached."""


class WebPageSpec(Model):
    """What the page says."""

    html: str = "<h1>Hello</h1>"
    replicas: int = 1


class WebPageStatus(ObservedGeneration):
    """What has been seen of it."""

    ready_replicas: int = 0
    service: str = ""


@CustomResource(columns=(PrinterColumn("Ready", ".status.readyReplicas"), AGE))
@resource(group="example.com", version="v1", plural="webpages")
class WebPage(Resource):
    """A page that is served inside the cluster."""

    spec: WebPageSpec = WebPageSpec()
    status: WebPageStatus | None = None


@controller(WebPage, owns=[watch(ConfigMap, labels=OURS), Deployment, Service])
class WebPageReconciler:
    """What it makes is owned by the page, so that it goes with the page: no clean-up is needed."""

    def reconcile(self, ctx: Context[WebPage], page: WebPage) -> Result:
        for wanted in (config_map(page), service(page)):
            ctx.client.create_or_update(ctx.own(wanted))
        running, _ = ctx.client.create_or_update(ctx.own(deployment(page)))
        ready = running.status.ready_replicas if running.status else None
        page.status = WebPageStatus(ready_replicas=ready or 0, service=page.metadata.name)
        return Result.status(page)


def config_map(page: WebPage) -> ConfigMap:
    return ConfigMap(metadata=named(page), data={"index.html": page.spec.html})


def service(page: WebPage) -> Service:
    ports = [ServicePort(name="http", port=80, target_port=80)]
    return Service(metadata=named(page), spec=ServiceSpec(selector=labels(page), ports=ports))


def deployment(page: WebPage) -> Deployment:
    # The hash makes new pods of a new page; a change of the ConfigMap alone would not.
    digest = sha256(page.spec.html.encode()).hexdigest()[:16]
    nginx = Container(
        name="nginx",
        image="nginx:stable",
        volume_mounts=[VolumeMount(name="html", mount_path="/usr/share/nginx/html")],
    )
    html = Volume(name="html", config_map=ConfigMapVolumeSource(name=page.metadata.name))
    return Deployment(
        metadata=named(page),
        spec=DeploymentSpec(
            replicas=page.spec.replicas,
            selector=LabelSelector(match_labels=labels(page)),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels(page), annotations={HASH: digest}),
                spec=PodSpec(containers=[nginx], volumes=[html]),
            ),
        ),
    )


def named(page: WebPage) -> ObjectMeta:
    metadata = page.metadata
    return ObjectMeta(name=metadata.name, namespace=metadata.namespace, labels=OURS)


def labels(page: WebPage) -> dict[str, str]:
    return {"app": page.metadata.name}


def new_manager(client: Client, reconciler: object) -> Manager:
    manager = manager_of(client, "webpage", workers=2)
    manager.register(reconciler)
    return manager


def demo(reconciler: object) -> None:
    from clientgo.testcluster.workloads import WorkloadSimulator
    from clientgo.testing.observer import Observer

    with embedded(WebPage) as client:
        manager = new_manager(client, reconciler)
        manager.add_runnable(WorkloadSimulator(client))
        with manager, Observer(client, WebPage, Deployment) as seen:
            pages = client.resource(WebPage).namespace("default")
            page = seen.lister(WebPage).namespace("default")
            running = seen.lister(Deployment).namespace("default")
            pages.create(WebPage(metadata=ObjectMeta(name="hello"), spec=WebPageSpec(replicas=2)))
            see(
                seen,
                "the page is served by two pods",
                lambda: (
                    (status := page.get("hello").status)
                    and status.ready_replicas == 2
                    and running.list()  # each kind has a cache of its own, which may lag
                ),
            )
            first = running.get("hello").spec.template.metadata.annotations[HASH]
            pages.patch("hello", {"spec": {"html": "<h1>Good evening</h1>"}})
            see(
                seen,
                "a new text makes new pods",
                lambda: (
                    running.get("hello").spec.template.metadata.annotations[HASH] != first
                    and (status := page.get("hello").status) is not None
                    and status.observed_generation == 2
                ),
            )
            pages.delete("hello")
            see(seen, "without the page nothing is left of it", lambda: not running.list())


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo(WebPageReconciler())
    else:
        run_on_your_cluster(lambda client: new_manager(client, WebPageReconciler()), WebPage)
