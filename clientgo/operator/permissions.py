"""Declaring permissions that do not follow from an operator's controllers.

``clientgo operator gen rbac`` writes roles from them. Source: the ``+kubebuilder:rbac`` markers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from clientgo.operator.errors import DeclarationError

T = TypeVar("T", bound=Callable[..., Any])

_ATTRIBUTE: Final = "__clientgo_rbac__"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """Verbs on resources of groups (on the objects ``names`` if given), or on ``urls``, in
    ``namespace`` or everywhere. Raises ``DeclarationError`` for a rule that grants nothing."""

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
    """Grant the operator more than its controllers declare.

    Decorate a reconciler's class, or the function that makes the manager. ``namespace`` limits the
    rule to one namespace. Raises ``DeclarationError``.

        @rbac(groups=[""], resources=["nodes"], verbs=["get", "list"])
        @controller(Foo, owns=[Pod])
        class FooReconciler: ...
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
    """Return the rules that ``@rbac`` has added to a class or function."""
    rules: tuple[PolicyRule, ...] = getattr(declared, _ATTRIBUTE, ())
    return rules
