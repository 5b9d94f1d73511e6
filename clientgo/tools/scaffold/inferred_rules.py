"""The permissions of an operator, inferred from its controllers.

Promises: what the framework does for a controller (watches, finalizer, status, events, lease), and
everything on kinds that it owns. A controller that is limited to namespaces gets permissions there
only, except for sources that are not limited.

Does not promise to know what a reconciler's code does otherwise, changes to the primary's spec
included: ``@rbac`` declares that.

Differs from the ``+kubebuilder:rbac`` markers, which have to be written for all of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from clientgo.meta import APIResource
from clientgo.operator.cache import EVERYWHERE, NamespaceSet, api_resource
from clientgo.operator.controller import PRIMARY, Controller
from clientgo.operator.permissions import PolicyRule, rules_on
from clientgo.operator.sources import KindSource
from clientgo.operator.webhooks import WebhookObjectNames

READ: Final = ("get", "list", "watch")
CHANGE: Final = ("patch", "update")
MANAGE: Final = (*READ, "create", *CHANGE, "delete")


def controller_rules(controller: Controller[Any]) -> list[PolicyRule]:
    """Return the permissions of one controller, and those of ``@rbac`` on its reconciler."""
    granted = rules_on(type(_reconciler_of(controller)))
    return [*_primary(controller), *_sources(controller), *granted]


def lease_rule(namespace: str) -> PolicyRule:
    """Return the permission to take part in an election, in the operator's namespace."""
    return PolicyRule(
        groups=("coordination.k8s.io",),
        resources=("leases",),
        verbs=("get", "create", "update", "watch"),
        namespace=namespace,
    )


def secure_metrics_rules() -> list[PolicyRule]:
    """Return the permissions to ask who reads the metrics, and whether they may."""
    return [
        PolicyRule(groups=(f"{part}.k8s.io",), resources=(review,), verbs=("create",))
        for part, review in (
            ("authentication", "tokenreviews"),
            ("authorization", "subjectaccessreviews"),
        )
    ]


def certificate_rules(operator: str, namespace: str, crds: Iterable[str]) -> list[PolicyRule]:
    """Return the permissions to keep the certificate of the webhooks.

    These are for its Secret, and for the objects that trust it; ``crds`` are the definitions with a
    conversion.
    """
    names = WebhookObjectNames.of(operator)

    def secrets(*verbs: str, name: str = "") -> PolicyRule:
        return PolicyRule(
            groups=("",),
            resources=("secrets",),
            verbs=verbs,
            names=(name,) if name else (),
            namespace=namespace,
        )

    rules = [
        secrets("create"),  # cannot be restricted to names
        secrets("get", "update", name=names.secret),
        *(
            PolicyRule(
                groups=("admissionregistration.k8s.io",),
                resources=(f"{kind}webhookconfigurations",),
                verbs=("get", "update"),
                names=(name,),
            )
            for kind, name in (("mutating", names.mutating), ("validating", names.validating))
        ),
    ]
    if converted := tuple(crds):
        rules.append(
            PolicyRule(
                groups=("apiextensions.k8s.io",),
                resources=("customresourcedefinitions",),
                verbs=("get", "update"),
                names=converted,
            )
        )
    return rules


def _primary(controller: Controller[Any]) -> Iterator[PolicyRule]:
    primary, shape = controller.primary, controller.parts.shape
    writes = bool(controller.finalizers) or shape.initialise is not None
    verbs = (*READ, *CHANGE) if writes else READ
    yield from _on(primary, "", verbs, controller.namespaces)
    yield from _on(primary, "/finalizers", ("update",), controller.namespaces)
    if controller.parts.has_status:
        yield from _on(primary, "/status", ("get", *CHANGE), controller.namespaces)
    for namespace in sorted(controller.namespaces):
        yield PolicyRule(
            groups=("", "events.k8s.io"),
            resources=("events",),
            verbs=("create", "patch"),
            namespace=namespace,
        )


def _sources(controller: Controller[Any]) -> Iterator[PolicyRule]:
    for source in controller.sources():
        if isinstance(source, KindSource) and source.name != PRIMARY:
            verbs = MANAGE if source.owned else READ
            where = source.namespaces_within(controller.namespaces)
            yield from _on(api_resource(source.kind), "", verbs, where)
    for dependent in controller.declaration.dependents:
        yield from _on(api_resource(dependent.kind), "", MANAGE, controller.namespaces)


def _on(
    resource: APIResource, part: str, verbs: tuple[str, ...], namespaces: NamespaceSet
) -> Iterator[PolicyRule]:
    for namespace in sorted(namespaces if resource.namespaced else EVERYWHERE):
        yield PolicyRule(
            groups=(resource.group,),
            resources=(resource.plural + part,),
            verbs=verbs,
            namespace=namespace,
        )


def _reconciler_of(controller: Controller[Any]) -> object:
    shape = controller.parts.shape
    method = shape.reconcile or shape.reconcile_key
    return getattr(method, "__self__", method)
