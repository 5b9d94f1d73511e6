"""Objects of tests in few words."""

from __future__ import annotations

from typing import Any

from clientgo.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from clientgo.api.batch_v1 import CronJob, Job
from clientgo.api.core_v1 import Container, Pod, PodSpec, ReplicationController
from clientgo.meta import Codec, ObjectMeta, encode


def template(image: str = "app:1", restart: str = "Always", **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "app", "image": image}], "restartPolicy": restart}
    return {"metadata": {"labels": labels or {"app": "app"}}, "spec": spec}


def made(kind: type[Any], plain: dict[str, Any]) -> Any:
    return Codec(kind).decode(encode({"apiVersion": "", "kind": kind.__name__, **plain}))


def workload(kind: type[Any], name: str, image: str = "app:1", **spec: Any) -> Any:
    labels = {"app": name}
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": template(image, **labels),
            **spec,
        },
    }
    if kind is StatefulSet:
        plain["spec"].setdefault("serviceName", name)
    return made(kind, plain)


def deployment(name: str = "web", **spec: Any) -> Deployment:
    return workload(Deployment, name, **spec)  # type: ignore[no-any-return]


def stateful_set(name: str = "db", **spec: Any) -> StatefulSet:
    return workload(StatefulSet, name, **spec)  # type: ignore[no-any-return]


def daemon_set(name: str = "agent", **spec: Any) -> DaemonSet:
    return workload(DaemonSet, name, **spec)  # type: ignore[no-any-return]


def replica_set(name: str = "rs", **spec: Any) -> ReplicaSet:
    return workload(ReplicaSet, name, **spec)  # type: ignore[no-any-return]


def replication_controller(name: str = "rc", **spec: Any) -> ReplicationController:
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "template": template(app=name), **spec},
    }
    return made(ReplicationController, plain)  # type: ignore[no-any-return]


def job(name: str = "sum", restart: str = "Never", **spec: Any) -> Job:
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template(restart=restart), **spec},
    }
    return made(Job, plain)  # type: ignore[no-any-return]


def cron_job(schedule: str, name: str = "tick", **spec: Any) -> CronJob:
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"spec": {"template": template(restart="Never")}},
            **spec,
        },
    }
    return made(CronJob, plain)  # type: ignore[no-any-return]


def pod(name: str = "app", image: str = "app:1", **spec: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", labels={"app": name}),
        spec=PodSpec(containers=[Container(name="app", image=image)], **spec),
    )
