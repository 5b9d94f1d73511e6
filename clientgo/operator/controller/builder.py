"""Declare a controller step by step: the arguments of ``@controller``, one method each.

Promises that each step is checked where it is made. Source: controller-runtime pkg/builder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack

from clientgo.operator.cache.object_cache import Kind, Projection
from clientgo.operator.controller.controller import Controller
from clientgo.operator.controller.declaration import ControllerSettings, Declaration
from clientgo.operator.errors import DeclarationError
from clientgo.operator.mappers import Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.sources.kind_source import WatchOptions, owned, watch
from clientgo.operator.sources.source import Source

if TYPE_CHECKING:
    from clientgo.operator.addons.changes.changes import Compared

P = TypeVar("P")


class ControllerBuilder(Generic[P]):
    """Made by ``manager.controller(Kind)``; not thread-safe, used once.

    ::

        manager.controller(Foo).owns(Deployment).options(workers=2).build(FooReconciler())
    """

    def __init__(
        self,
        build: Callable[[Declaration, object], Controller[Any]],
        primary: Kind | None = None,
    ) -> None:
        self._build = build
        self._declaration = None if primary is None else Declaration(primary)
        self._built = False

    def for_(
        self, kind: Kind, *, predicate: Predicate | None = None, project: Projection = "full"
    ) -> Self:
        """Set the primary kind. Raises ``DeclarationError`` if there is one already."""
        if self._declaration is not None:
            raise DeclarationError("a controller has one primary kind; make another controller")
        predicates = () if predicate is None else (predicate,)
        self._declaration = Declaration(kind, primary_predicates=predicates, projection=project)
        return self

    def owns(
        self, kind: Kind, *, match_every_owner: bool = False, **options: Unpack[WatchOptions]
    ) -> Self:
        """See :func:`~clientgo.operator.sources.owned`."""
        return self._add("sources", owned(kind, match_every_owner=match_every_owner, **options))

    def watches(self, kind: Kind, mapper: Mapper, **options: Unpack[WatchOptions]) -> Self:
        """See :func:`~clientgo.operator.sources.watch`."""
        return self._add("sources", watch(kind, mapper=mapper, **options))

    def source(self, source: Source) -> Self:
        """Any source. The controller's predicates apply to those of :func:`watch` only."""
        return self._add("sources", source)

    def reads(self, *kinds: Kind) -> Self:
        """Kinds that the reconciler reads from the cache; their events do not run it."""
        return self._add("reads", *kinds)

    def with_predicate(self, predicate: Predicate) -> Self:
        """Add a predicate for events of the primary, of owned and of watched kinds."""
        return self._add("predicates", predicate)

    def dependents(self, *dependents: Any) -> Self:
        """Objects that are described rather than written, see ``operator.addons.dependents``."""
        return self._add("dependents", *dependents)

    def changes(self, *fields: Compared) -> Self:
        """Fields that runs compare by ``ctx.changes``, see ``operator.addons.changes``."""
        return self._add("changes", *fields)

    def options(self, **options: Unpack[ControllerSettings]) -> Self:
        """Settings, see ``ControllerConfig``."""
        declaration = self._declared("options")
        changed = replace(declaration, options={**declaration.options, **options})
        changed.config().checked()
        self._declaration = changed
        return self

    def build(self, reconciler: object) -> Controller[P]:
        """Register the controller. Raises ``DeclarationError`` for what cannot work."""
        declaration = self._declared("build")
        if self._built:
            raise DeclarationError("this controller was built already; one builder builds one")
        controller = self._build(declaration, reconciler)
        self._built = True
        return controller

    def _add(self, field: str, *items: Any) -> Self:
        declaration = self._declared(field)
        changed: Any = {field: (*getattr(declaration, field), *items)}
        self._declaration = replace(declaration, **changed)
        return self

    def _declared(self, step: str) -> Declaration:
        if self._declaration is None:
            raise DeclarationError(f"{step}(...) needs a primary kind: call for_(Kind) first")
        return self._declaration
