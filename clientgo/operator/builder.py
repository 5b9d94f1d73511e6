"""Declaring a controller step by step.

Promises that each step is checked where it is made, and that :meth:`ControllerBuilder.build` gives
the controller that the decorator would.

Source: controller-runtime pkg/builder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar, Unpack

from clientgo.operator.cache.object_cache import Kind, Projection
from clientgo.operator.controller import Controller
from clientgo.operator.controller_config import ControllerSettings
from clientgo.operator.declaration import Declaration
from clientgo.operator.errors import DeclarationError
from clientgo.operator.mappers import Locator, Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.sources.source import Source

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
        self,
        kind: Kind,
        *,
        predicate: Predicate | None = None,
        project: Projection = "full",
    ) -> Self:
        """The primary kind. Raises ``DeclarationError`` if there is one already."""
        if self._declaration is not None:
            raise DeclarationError("a controller has one primary kind; make another controller")
        predicates = () if predicate is None else (predicate,)
        self._declaration = Declaration(kind, primary_predicates=predicates, projection=project)
        return self

    def owns(
        self,
        kind: Kind,
        *,
        match_every_owner: bool = False,
        predicate: Predicate | None = None,
        follow_namespaces: bool = True,
        project: Projection = "full",
        name: str = "",
    ) -> Self:
        """Objects of a kind wake the primary that controls them, or every one that owns them."""
        return self._set(
            self._declared("owns").owning(
                kind,
                match_every_owner=match_every_owner,
                predicate=predicate,
                follow_namespaces=follow_namespaces,
                project=project,
                name=name,
            )
        )

    def watches(
        self,
        kind: Kind,
        mapper: Mapper,
        *,
        predicate: Predicate | None = None,
        locate: Locator | None = None,
        follow_namespaces: bool = False,
        project: Projection = "full",
        name: str = "",
    ) -> Self:
        """Objects of a kind wake the primaries that the mapper names."""
        return self._set(
            self._declared("watches").watching(
                kind,
                mapper,
                predicate=predicate,
                locate=locate,
                follow_namespaces=follow_namespaces,
                project=project,
                name=name,
            )
        )

    def source(self, source: Source) -> Self:
        """Any source; the controller's predicates do not apply to it."""
        declaration = self._declared("source")
        return self._set(replace(declaration, sources=(*declaration.sources, source)))

    def reads(self, *kinds: Kind) -> Self:
        """Kinds that the reconciler reads from the cache without being woken by them."""
        declaration = self._declared("reads")
        return self._set(replace(declaration, reads=(*declaration.reads, *kinds)))

    def with_predicate(self, predicate: Predicate) -> Self:
        """What events of the primary, of owned and of watched kinds have to pass besides."""
        declaration = self._declared("with_predicate")
        return self._set(replace(declaration, predicates=(*declaration.predicates, predicate)))

    def dependents(self, *dependents: Any) -> Self:
        """Objects that are described rather than written, see ``clientgo.operator.dependents``."""
        declaration = self._declared("dependents")
        return self._set(replace(declaration, dependents=(*declaration.dependents, *dependents)))

    def options(self, **options: Unpack[ControllerSettings]) -> Self:
        """Settings, see :class:`~clientgo.operator.controller_config.ControllerConfig`."""
        declaration = self._declared("options")
        changed = replace(declaration, options={**declaration.options, **options})
        changed.config().checked()
        return self._set(changed)

    def build(self, reconciler: object) -> Controller[P]:
        """Register the controller. Raises ``DeclarationError`` for what cannot work."""
        declaration = self._declared("build")
        if self._built:
            raise DeclarationError("this controller was built already; one builder builds one")
        controller = self._build(declaration, reconciler)
        self._built = True
        return controller

    def _declared(self, step: str) -> Declaration:
        if self._declaration is None:
            raise DeclarationError(f"{step}(...) needs a primary kind: call for_(Kind) first")
        return self._declaration

    def _set(self, declaration: Declaration) -> Self:
        self._declaration = declaration
        return self
