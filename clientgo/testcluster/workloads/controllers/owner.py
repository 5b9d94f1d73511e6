"""What the controllers of workloads have in common.

::

    look at the owned objects ──► plan ──► create, change, delete ──► look again
                                   │ nothing left to do
                                   ▼
                              write the status

Promises that a run which finds everything as it should be writes nothing. A plan is a function of
what is there: it does not matter what happened before, or how often it is made.

Kinds with a selector adopt and release first (:mod:`.claims`).
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from clientgo.api.core_v1 import Pod, PodTemplateSpec
from clientgo.meta import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ObjectMeta,
    StatusError,
    deep_copy,
    to_plain,
)
from clientgo.meta.owner_references import get_controller_of
from clientgo.operator import Context, RateLimit, Result
from clientgo.operator.client import ignore
from clientgo.testcluster.workloads.controllers.claims import claim
from clientgo.testcluster.workloads.randomness import Randomness

P = TypeVar("P")

OWNER: Final = "owner"
"""The name of the index of objects by the uid of their controller."""

MODERATE: Final = RateLimit(10, per=1.0)
"""What owns hundreds of pods does not look at all of them whenever one changes."""

_REFUSED: Final = 10.0
"""Seconds until an object that the API server refused is created again."""

_ROUNDS: Final = 20
"""Plans in a row before other objects have their turn."""


def owner_uid(obj: Any) -> Iterable[str]:
    """Return the value of the index :data:`OWNER`; it is empty without a controller."""
    reference = get_controller_of(obj)
    return ("",) if reference is None else (reference.uid,)


@dataclass
class Plan:
    """What is left to do, and the status if that is nothing.

    ``unowned`` are objects that are created and outlive the owner, unless they exist. ``changes``
    are objects with merge patches. ``again`` is in how many seconds time alone makes a difference.
    """

    status: Any = None
    create: Sequence[Any] = ()
    unowned: Sequence[Any] = ()
    changes: Sequence[tuple[Any, dict[str, Any]]] = ()
    delete: Sequence[Any] = ()
    again: float | None = None
    events: list[tuple[str, str]] = field(default_factory=list)
    """Reason and note of what users should know, recorded when the plan is carried out."""

    @property
    def is_settled(self) -> bool:
        return not (self.create or self.changes or self.delete)


class _RefusedError(Exception):
    """The API server refuses an object, for example because of a quota."""

    def __init__(self, obj: Any, error: StatusError) -> None:
        super().__init__(str(error))
        self.obj = obj


class Owner(abc.ABC, Generic[P]):
    """The reconciler of a kind whose objects own others; a subclass plans.

    ``owned`` is the kind of what is owned. What the API server refuses is the note of an event, and
    is tried again.
    """

    owned: ClassVar[type[Any]] = Pod
    claims: ClassVar[bool] = False
    """Objects without a controller are adopted if the selector matches, others are released."""

    def __init__(self, randomness: Randomness) -> None:
        self.randomness = randomness

    @abc.abstractmethod
    def plan(self, ctx: Context[P], obj: P, owned: list[Any]) -> Plan:
        """Return what is left to do for an object that owns these."""

    def may_adopt(self, obj: P, orphan: Any) -> bool:
        """Return True if an object without a controller can be adopted, should it match."""
        return True

    def refusal(self, obj: P, refused: Any, message: str) -> str:
        """Return the note of the event for an object that was refused."""
        return f"Error creating: {message}"

    def note_refusal(self, obj: P, plan: Plan, message: str, now: float) -> None:
        """Say in the status of a plan that an object was refused; not every kind does."""

    def reconcile(self, ctx: Context[P], obj: P) -> Result:
        obj, plan = self._settle(ctx, obj)
        result = Result.done()
        if plan.status is not None:
            changed: Any = deep_copy(obj)
            changed.status = plan.status
            result = Result.status(changed)
        return result if plan.again is None else result.after(max(plan.again, 0.001))

    def _settle(self, ctx: Context[P], obj: P) -> tuple[P, Plan]:
        """Carry out plans until nothing is left to do; return the object as it is then."""
        for _ in range(_ROUNDS):
            owned = owned_by(ctx, self.owned, obj)
            claimed = self._claim(ctx, obj, owned)
            plan = Plan(changes=claimed) if claimed else self.plan(ctx, obj, owned)
            if plan.is_settled:
                return obj, plan
            try:
                obj = self._carry_out(ctx, obj, plan)
            except (AlreadyExistsError, NotFoundError):
                # An object of this name is being deleted, or is gone. Its deletion runs this again.
                break
            except _RefusedError as refused:
                note = self.refusal(obj, refused.obj, str(refused))
                ctx.events.warning("FailedCreate", note)
                plan = self.plan(ctx, obj, owned_by(ctx, self.owned, obj))
                self.note_refusal(obj, plan, str(refused), ctx.clock.time())
                plan.again = _REFUSED
                return obj, plan
        plan.again = 1.0
        return obj, plan

    def _claim(
        self, ctx: Context[P], obj: P, owned: list[Any]
    ) -> Sequence[tuple[Any, dict[str, Any]]]:
        if not self.claims:
            return ()
        metadata: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
        found = ctx.client.list(self.owned, namespace=metadata.namespace, fields={OWNER: ""})
        return claim(obj, owned, [each for each in found if self.may_adopt(obj, each)])

    def _carry_out(self, ctx: Context[P], obj: P, plan: Plan) -> P:
        for reason, note in plan.events:
            ctx.events.normal(reason, note)
        changed = obj
        for each, patch in plan.changes:
            # An owner notes on itself by its status: a Deployment whose annotations change by
            # themselves has a new generation.
            patched = ctx.client.patch(each, patch, subresource="status" if each is obj else "")
            changed = patched if each is obj else changed
        for each in plan.delete:
            ctx.client.delete(each, propagation="Background")
        for each in plan.unowned:
            with ignore(AlreadyExistsError):
                ctx.client.create(each)
        for each in plan.create:
            try:
                ctx.client.create(ctx.own(each))
            except (ForbiddenError, InvalidError) as error:
                raise _RefusedError(each, error) from error
        return changed


def owned_by(ctx: Context[Any], kind: type[Any], owner: Any) -> list[Any]:
    """Return the objects of a kind that an object controls; they are shared, do not change them."""
    metadata = owner.metadata
    return ctx.client.list(kind, namespace=metadata.namespace, fields={OWNER: metadata.uid})


def plain_template(obj: Any) -> dict[str, Any]:
    """Return the pod template of a workload as JSON."""
    template: dict[str, Any] = to_plain(obj)["spec"]["template"]
    return template


def new_pod(
    owner: Any,
    template: PodTemplateSpec,
    name: str,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Pod:
    """Return a pod of a template; :meth:`Owner.reconcile` adds the owner."""
    return Pod(
        metadata=ObjectMeta(
            name=name,
            generate_name=f"{owner.metadata.name}-",
            namespace=owner.metadata.namespace,
            labels={**template.metadata.labels, **(labels or {})},
            annotations={**template.metadata.annotations, **(annotations or {})},
            finalizers=template.metadata.finalizers,
        ),
        spec=template.spec,
    )


def wanted_replicas(obj: Any) -> int:
    """Return ``spec.replicas``, which is 1 unless it is set."""
    replicas: int | None = obj.spec.replicas
    return 1 if replicas is None else replicas
