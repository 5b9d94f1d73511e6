"""A kind in three versions, and how they are made from each other."""

from __future__ import annotations

from typing import Any

from clientgo.meta import Model, Resource, resource
from clientgo.operator.webhooks import conversion

GROUP = "demo.example.com"


class Item(Model):
    name: str = ""


class OldSpec(Model):
    """``schedule`` is one text, as in ``minute hour``."""

    schedule: str = ""
    extra: list[Item] = []


class HubSpec(Model):
    minute: str = ""
    hour: str = ""
    extra: list[Item] = []


class PlainSpec(Model):
    minute: str = ""


@resource(group=GROUP, version="v1alpha1", plural="jobs", kind="Job")
class JobV1Alpha1(Resource):
    spec: OldSpec = OldSpec()


@resource(group=GROUP, version="v1", plural="jobs", kind="Job")
class JobV1(Resource):
    spec: HubSpec = HubSpec()


@resource(group=GROUP, version="v1beta1", plural="jobs", kind="Job")
class JobV1Beta1(Resource):
    spec: PlainSpec = PlainSpec()


@conversion(JobV1Alpha1, hub=JobV1)
class FromAlpha:
    def to_hub(self, spoke: JobV1Alpha1) -> JobV1:
        minute, _, hour = spoke.spec.schedule.partition(" ")
        return JobV1(
            metadata=spoke.metadata,
            spec=HubSpec(minute=minute, hour=hour, extra=spoke.spec.extra),
        )

    def from_hub(self, hub: JobV1) -> JobV1Alpha1:
        schedule = f"{hub.spec.minute} {hub.spec.hour}".strip()
        return JobV1Alpha1(spec=OldSpec(schedule=schedule, extra=hub.spec.extra))


@conversion(JobV1Beta1, hub=JobV1, unknown_in="demo.example.com/unknown")
class FromBeta:
    def to_hub(self, spoke: JobV1Beta1) -> JobV1:
        return JobV1(metadata=spoke.metadata, spec=HubSpec(minute=spoke.spec.minute, hour="0"))

    def from_hub(self, hub: JobV1) -> JobV1Beta1:
        return JobV1Beta1(metadata=hub.metadata, spec=PlainSpec(minute=hub.spec.minute))


def job(version: str, name: str = "a", **spec: Any) -> dict[str, Any]:
    """A Job as JSON values."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Job",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"team": "x"}},
        "spec": spec,
    }
