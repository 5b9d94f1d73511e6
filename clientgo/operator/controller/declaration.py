"""The declaration of a controller: its primary kind, its sources and its settings.

Promises that every setting is checked when the controller is declared or built.

Source: controller-runtime pkg/controller Options; Java Operator SDK ControllerConfiguration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, Unpack

from clientgo.operator.cache.object_cache import Kind, Projection, api_resource
from clientgo.operator.cache.scope import Namespaces
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.predicates import Predicate, all_of
from clientgo.operator.reconciler import check_instance
from clientgo.operator.retry import RetryPolicy, exponential, policy_of
from clientgo.operator.runs.rate_limit import RateLimit
from clientgo.operator.settings.durations import Duration, positive_seconds, seconds
from clientgo.operator.settings.labels import selector_of
from clientgo.operator.settings.types import check_names, check_settings, several
from clientgo.operator.sources.kind_source import KindSource, owned
from clientgo.operator.sources.source import Source
from clientgo.operator.status_report import BestPracticeReporter, StatusReporter

if TYPE_CHECKING:
    from clientgo.operator.addons.changes.changes import Compared

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
    changes: tuple[Compared, ...] = ()
    projection: Projection = "full"
    options: Mapping[str, Any] = field(default_factory=dict)

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
    changes: Iterable[Compared] = (),
    **options: Unpack[ControllerSettings],
) -> Callable[[type[RT]], type[RT]]:
    """Declare a reconciler class as a controller; ``manager.register(Reconciler())`` builds it.

        @controller(Foo, owns=[Deployment], workers=2)
        class FooReconciler:
            def reconcile(self, ctx, foo): ...

    Write ``owns=[watch(Deployment, labels={...})]`` to watch and cache only some of the objects.
    ``changes`` names fields for ``ctx.changes``, see :mod:`clientgo.operator.addons.changes`.
    ``options`` are the settings of :class:`ControllerConfig`. Raises ``ConfigError``,
    ``DeclarationError``, and ``TypeError`` for a kind that is not declared.
    """
    if hasattr(primary, "reconcile") or hasattr(primary, "reconcile_key"):
        name = getattr(primary, "__name__", repr(primary))
        raise DeclarationError(f"{name} is no kind; write @controller(Kind, ...) above {name}")
    known = [*_ARGUMENTS, *ControllerSettings.__annotations__]
    check_names(options, known, "a controller", _INSTEAD)
    owning = (
        kind.as_owned() if isinstance(kind, KindSource) else owned(kind)
        for kind in several(owns, "owns")
    )
    declaration = Declaration(
        primary,
        sources=(*owning, *several(sources, "sources")),
        reads=several(reads, "reads"),
        predicates=() if predicate is None else (all_of(predicate),),
        dependents=several(dependents, "dependents"),
        changes=several(changes, "changes"),
        options=dict(options),
    )
    for kind in (primary, *declaration.reads):
        api_resource(kind)
    declaration.config().checked()

    def declare(cls: type[RT]) -> type[RT]:
        cls.__controller__ = declaration  # type: ignore[attr-defined]
        return cls

    return declare


def declaration_of(reconciler: object) -> Declaration:
    """What a reconciler's class is declared as. Raises ``DeclarationError`` if it is not."""
    check_instance(reconciler)
    found = getattr(type(reconciler), "__controller__", None)
    if not isinstance(found, Declaration):
        raise DeclarationError(
            f"{type(reconciler).__name__} is not declared: decorate it with "
            "@controller(Kind, ...), or use manager.controller(Kind)....build(reconciler)"
        )
    return found


TEN_HOURS: Final = 36000.0

AUTOMATIC: Final = "auto"
"""The finalizer that a controller uses unless it is given another name."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """The settings of a controller.

    ``name`` is the kind in lower case unless given. ``workers``: how many objects are reconciled at
    a time. ``namespaces`` None: those of the manager. ``labels`` selects primaries: for the
    controller there are no others, and one that loses the labels is gone. ``finalizer`` is used if
    the reconciler has ``cleanup``; ``give_up_after`` is how long after its deletion a clean-up may
    keep failing. ``generation_aware``: status updates are not worth a run;
    ``default_filter`` False drops the whole default predicate. ``on_deleted``: run once more when
    the object is gone. ``retry`` is a policy, or the class or name of one; ``rate_limit``: see that
    module. ``fair_namespaces``: the objects of one namespace do not delay those of another, see
    :class:`~clientgo.workqueue.PriorityQueue`. ``max_interval``: every object runs at least this
    often, None for never. ``reconcile_timeout``: a run that takes longer has failed;
    ``cancel_on_deletion``: the deletion of its object ends a run too, and the clean-up follows.
    ``recover`` False: an exception stops the manager. ``needs_leadership``: runs in one process
    only; ``warmup``: but its caches are filled before. ``reporter`` reports to users how runs end,
    None: nothing does. ``extra`` is for retry policies that are built from settings.
    """

    name: str = ""
    workers: int = 1
    namespaces: Namespaces | None = None
    labels: str | Mapping[str, str] = ""
    finalizer: str | None = AUTOMATIC
    give_up_after: float | None = None
    generation_aware: bool = True
    default_filter: bool = True
    on_deleted: bool = False
    retry: RetryPolicy = field(default_factory=exponential)
    rate_limit: RateLimit | None = None
    fair_namespaces: bool = False
    max_interval: float | None = TEN_HOURS
    reconcile_timeout: float | None = None
    cancel_on_deletion: bool = False
    recover: bool = True
    needs_leadership: bool = True
    warmup: bool = True
    cache_sync_timeout: float = 120.0
    reporter: StatusReporter | None = field(default_factory=BestPracticeReporter)
    allow_duplicate_name: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def checked(self) -> ControllerConfig:
        """Return the same, with lengths in seconds. Raises ``ConfigError``."""
        where = f"controller {self.name}: " if self.name else ""
        if self.name and not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"{self.name!r} is no name of a controller; use a-z, 0-9, '-', '_' and '.', "
                "with a letter or digit at either end"
            )
        if self.workers < 1:
            raise ConfigError(f"{where}workers must be at least 1, not {self.workers}")
        interval = None if self.max_interval is None else seconds(self.max_interval, "max_interval")
        return replace(
            self,
            labels=str(selector_of(self.labels, f"{where}labels")),
            retry=policy_of(self.retry, self),
            max_interval=interval if interval and interval > 0 else None,
            give_up_after=_optional(self.give_up_after, f"{where}give_up_after"),
            reconcile_timeout=_optional(self.reconcile_timeout, f"{where}reconcile_timeout"),
            cache_sync_timeout=positive_seconds(
                self.cache_sync_timeout, f"{where}cache_sync_timeout"
            ),
            rate_limit=None if self.rate_limit is None else self.rate_limit.checked(),
        )


class ControllerSettings(TypedDict, total=False):
    """What a controller accepts; :class:`ControllerConfig` has the result."""

    name: str
    workers: int
    namespaces: Namespaces | None
    labels: str | Mapping[str, str]
    finalizer: str | None
    give_up_after: Duration | None
    generation_aware: bool
    default_filter: bool
    on_deleted: bool
    retry: RetryPolicy | type[RetryPolicy] | str
    rate_limit: RateLimit | None
    fair_namespaces: bool
    max_interval: Duration | None
    reconcile_timeout: Duration | None
    cancel_on_deletion: bool
    recover: bool
    needs_leadership: bool
    warmup: bool
    cache_sync_timeout: Duration
    reporter: StatusReporter | None
    allow_duplicate_name: bool
    extra: Mapping[str, Any]


_ARGUMENTS: Final = ("owns", "sources", "reads", "predicate", "dependents", "changes")
"""What :func:`controller` takes beside settings: one that is misspelled arrives with these."""

_WATCH: Final = "sources=[watch(Kind, mapper=...)]"

_INSTEAD: Final = {
    "watches": _WATCH,
    "watch": _WATCH,
    "source": "sources=[...]",
    "for_": "the kind as the first argument",
    "with_predicate": "predicate=...",
    "max_concurrent_reconciles": "workers=...",
    "concurrency": "workers=...",
    "resync": "max_interval=...",
}
"""What to write for the words of the builder and of other frameworks."""


def changed_config(config: ControllerConfig, changes: Mapping[str, Any]) -> ControllerConfig:
    """Return the settings with some replaced. Raises ``ConfigError`` for one that there is not."""
    check_settings(changes, ControllerSettings, "a controller")
    return replace(config, **changes)


def _optional(duration: Duration | None, name: str) -> float | None:
    return None if duration is None else positive_seconds(duration, name)
