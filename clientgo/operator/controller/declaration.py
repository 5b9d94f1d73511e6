"""What a controller is about: its primary kind, what it watches besides, and its settings.

Promises that the decorator :func:`controller` and the builder
(:class:`~clientgo.operator.builder.ControllerBuilder`) make equal declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack

from clientgo.operator.cache.object_cache import Kind, Projection
from clientgo.operator.controller.config import (
    ControllerConfig,
    ControllerSettings,
    changed_config,
)
from clientgo.operator.errors import DeclarationError
from clientgo.operator.predicates import Predicate, all_of
from clientgo.operator.sources.kind_source import KindSource, owned
from clientgo.operator.sources.source import Source

RT = TypeVar("RT")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One controller, before it is built."""

    primary: Kind
    sources: tuple[Source, ...] = ()
    reads: tuple[Kind, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    primary_predicates: tuple[Predicate, ...] = ()
    dependents: tuple[Any, ...] = ()
    projection: Projection = "full"
    options: Mapping[str, Any] = field(default_factory=dict)

    def predicate_of(self, source: KindSource) -> Predicate | None:
        """What an event of a source has to pass: its own predicate and the controller's."""
        parts = [part for part in (source.predicate, *self.predicates) if part is not None]
        return all_of(*parts) if parts else None

    def config(self) -> ControllerConfig:
        return changed_config(ControllerConfig(), self.options)


def controller(
    primary: Kind,
    *,
    owns: Iterable[Kind | KindSource] = (),
    sources: Iterable[Source] = (),
    reads: Iterable[Kind] = (),
    predicate: Predicate | None = None,
    dependents: Iterable[Any] = (),
    **options: Unpack[ControllerSettings],
) -> Callable[[type[RT]], type[RT]]:
    """Declare a reconciler class as a controller; ``manager.register(Reconciler())`` builds it.

    ::

        @controller(Foo, owns=[Deployment], workers=2)
        class FooReconciler:
            def reconcile(self, ctx, foo): ...

    Write ``owns=[watch(Deployment, labels={...})]`` to watch and cache only some of the objects.
    ``options`` are the settings of :class:`ControllerConfig`. Raises
    :class:`~clientgo.operator.errors.ConfigError` for one that there is not.
    """
    owning = (kind.as_owned() if isinstance(kind, KindSource) else owned(kind) for kind in owns)
    declaration = Declaration(
        primary,
        sources=(*owning, *sources),
        reads=tuple(reads),
        predicates=() if predicate is None else (predicate,),
        dependents=tuple(dependents),
        options=dict(options),
    )
    declaration.config().checked()

    def declare(cls: type[RT]) -> type[RT]:
        cls.__controller__ = declaration  # type: ignore[attr-defined]
        return cls

    return declare


def declaration_of(reconciler: object) -> Declaration:
    """What a reconciler's class is declared as. Raises ``DeclarationError`` if it is not."""
    found = getattr(type(reconciler), "__controller__", None)
    if not isinstance(found, Declaration):
        raise DeclarationError(
            f"{type(reconciler).__name__} is not declared: decorate it with "
            "@controller(Kind, ...), or use manager.controller(Kind)....build(reconciler)"
        )
    return found
