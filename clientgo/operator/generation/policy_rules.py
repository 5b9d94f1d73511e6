"""Rules of roles: who may do what, merged into as few as say it.

Promises that what is said twice is granted once, and that the same permissions make the same text.

Upstream: controller-tools ``pkg/rbac``, the ``+kubebuilder:rbac`` markers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from clientgo.operator.errors import DeclarationError

T = TypeVar("T", bound=Callable[..., Any])
Manifest: TypeAlias = dict[str, Any]

_ATTRIBUTE: Final = "__clientgo_rbac__"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """Verbs on resources of groups, of some ``names`` only if given, or on ``urls``.

    In ``namespace``, or everywhere. Raises
    :class:`~clientgo.operator.errors.DeclarationError` for a rule that grants nothing.
    """

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    namespace: str = ""

    def __post_init__(self) -> None:
        if not self.verbs:
            raise DeclarationError("@rbac names no verbs; write verbs=['get', ...]")
        if bool(self.urls) == bool(self.groups and self.resources):
            raise DeclarationError(
                "@rbac is about groups and resources, or about urls; the core group is ''"
            )
        if self.urls and self.namespace:
            raise DeclarationError("@rbac: urls belong to no namespace")


def rbac(
    *,
    groups: Sequence[str] = (),
    resources: Sequence[str] = (),
    verbs: Sequence[str],
    names: Sequence[str] = (),
    namespace: str = "",
    urls: Sequence[str] = (),
) -> Callable[[T], T]:
    """Grant the operator what cannot be told from its controllers; above a reconciler's class or
    the function that makes the manager.

    ::

        @rbac(groups=[""], resources=["nodes"], verbs=["get", "list"])
        @controller(Foo, owns=[Pod])
        class FooReconciler: ...

    With a ``namespace`` it holds there alone. Raises ``DeclarationError``.
    """
    rule = PolicyRule(
        groups=tuple(groups),
        resources=tuple(resources),
        verbs=tuple(verbs),
        names=tuple(names),
        urls=tuple(urls),
        namespace=namespace,
    )

    def grant(to: T) -> T:
        setattr(to, _ATTRIBUTE, (*rules_on(to), rule))
        return to

    return grant


def rules_on(declared: Any) -> tuple[PolicyRule, ...]:
    """What ``@rbac`` says above a class or function."""
    rules: tuple[PolicyRule, ...] = getattr(declared, _ATTRIBUTE, ())
    return rules


def merged(rules: Iterable[PolicyRule]) -> list[Manifest]:
    """The ``rules`` of one role, sorted; what has the same verbs stands together."""
    rules = list(rules)
    verbs_of: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    verbs_on: dict[str, set[str]] = defaultdict(set)
    for rule in rules:
        for group in rule.groups:
            for resource in rule.resources:
                verbs_of[group, resource, tuple(sorted(rule.names))] |= set(rule.verbs)
        for url in rule.urls:
            verbs_on[url] |= set(rule.verbs)
    for (group, resource, names), verbs in verbs_of.items():
        if names:
            verbs -= verbs_of.get((group, resource, ()), set())
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, names), verbs in sorted(verbs_of.items()):
        if verbs:
            together[group, names, _in_order(verbs)].append(resource)
    manifests: list[Manifest] = [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        | ({"resourceNames": list(names)} if names else {})
        for (group, names, verbs), resources in together.items()
    ]
    urls_together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for url, verbs in sorted(verbs_on.items()):
        urls_together[_in_order(verbs)].append(url)
    return manifests + [
        {"nonResourceURLs": urls, "verbs": list(verbs)} for verbs, urls in urls_together.items()
    ]


_USUAL_ORDER: Final = ("get", "list", "watch", "create", "update", "patch", "delete")


def _in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    """Verbs as people write them: reading before writing."""
    found = set(verbs)
    usual = [verb for verb in _USUAL_ORDER if verb in found]
    return (*usual, *sorted(found.difference(_USUAL_ORDER)))
