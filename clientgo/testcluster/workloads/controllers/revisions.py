"""ControllerRevisions: the history of the templates of StatefulSets and DaemonSets.

``kubectl rollout history`` and ``undo`` read them.

Upstream: ``pkg/controller/history``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clientgo.api.apps_v1 import ControllerRevision
from clientgo.api.core_v1 import PodTemplateSpec
from clientgo.meta import ObjectMeta
from clientgo.meta.decoding import convert
from clientgo.operator import Context
from clientgo.testcluster.workloads.controllers.owner import Plan, owned_by, plain_template
from clientgo.testcluster.workloads.randomness import digest
from clientgo.util.text.go_format import compact_json

HASH: Final = "controller-revision-hash"


@dataclass
class Revisions:
    """The revisions of one object, the oldest first; ``update`` is that of its present template.

    ``plan`` is what has to be done before anything else.
    """

    all: Sequence[ControllerRevision]
    update: ControllerRevision | None
    plan: Plan

    def template_of(self, name: str) -> PodTemplateSpec | None:
        """Return the template of a revision, or None."""
        for each in self.all:
            if each.metadata.name == name:
                template = dict((each.data or {})["spec"]["template"])
                template.pop("$patch", None)
                return convert(template, PodTemplateSpec, strict=False)
        return None

    def surplus(self, limit: int | None, live: Collection[str]) -> list[ControllerRevision]:
        """Return the oldest revisions without pods that are too many to be kept."""
        unused = [
            each for each in self.all if each.metadata.name not in live and each is not self.update
        ]
        return unused[: max(len(unused) - (10 if limit is None else limit), 0)]


def revisions_of(ctx: Context[Any], obj: Any) -> Revisions:
    """Return the revisions of an object, and how to make the present one the newest."""
    known = sorted(
        owned_by(ctx, ControllerRevision, obj), key=lambda each: (each.revision, each.metadata.name)
    )
    data = {"spec": {"template": {**plain_template(obj), "$patch": "replace"}}}
    equal = [each for each in known if each.data == data]
    newest = known[-1].revision if known else 0
    if not equal:
        return Revisions(known, None, Plan(create=[_new_revision(obj, data, newest + 1)]))
    update = equal[-1]
    plan = Plan()
    if update.revision < newest:
        plan.changes = [(update, {"revision": newest + 1})]
    return Revisions(known, update, plan)


def _new_revision(obj: Any, data: dict[str, Any], number: int) -> ControllerRevision:
    suffix = digest(compact_json(data))
    return ControllerRevision(
        metadata=ObjectMeta(
            name=f"{obj.metadata.name}-{suffix}",
            namespace=obj.metadata.namespace,
            labels={**obj.spec.template.metadata.labels, HASH: suffix},
            annotations={
                name: value
                for name, value in obj.metadata.annotations.items()
                if name != "kubectl.kubernetes.io/last-applied-configuration"
            },
        ),
        revision=number,
        data=data,
    )
