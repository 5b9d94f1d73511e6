"""The parts of a controller, each made once and complete.

    deadlines, queue ──► sources ──► parts ──► Controller

Promises that a declaration which cannot work is refused here, before anything has started.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from clientgo.meta import APIResource
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet, namespace_set
from clientgo.operator.controller.controller import Controller
from clientgo.operator.controller.declaration import AUTOMATIC, ControllerConfig, Declaration
from clientgo.operator.controller.parts import ControllerParts, Services
from clientgo.operator.controller.sources import ControllerSources
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.finalizers import checked_finalizer, default_finalizer
from clientgo.operator.metrics import ControllerMetrics, queue_metrics
from clientgo.operator.predicates import Predicate, worth_a_reconcile
from clientgo.operator.reconciler import Shape
from clientgo.operator.runs import RunDeadlines, RunQueue, RunSettings, Timers
from clientgo.operator.runs.run_fields import current_run
from clientgo.operator.settings.labels import selector_of
from clientgo.operator.status_report import Keeper, StatusNotes
from clientgo.util.wait import StopEvent


def controller_of(
    services: Services,
    declaration: Declaration,
    shape: Shape,
    config: ControllerConfig,
    keeper: Keeper | None = None,
) -> Controller[Any]:
    """Return a controller that has not started. Raises ``DeclarationError``, ``ConfigError``."""
    _check_deletion(shape, config)
    if shape.is_async:
        services.event_loop()  # it is made now, and not by the first run
    name, clock, stopping = config.name, services.clock, StopEvent()
    primary = api_resource(declaration.primary)
    finalizer = None if shape.cleanup is None else _finalizer_of(primary, config)
    finalizers = _all_finalizers(shape, finalizer)
    client = services.client.as_manager(name).written_by(current_run)
    per_namespace = services.metrics_per_namespace
    metrics = ControllerMetrics(
        name, services.metrics, per_namespace=per_namespace, sink=services.sink
    )
    timers = Timers(f"{name}-timers", clock)
    deadlines = RunDeadlines(
        name,
        config.reconcile_timeout,
        stopping,
        timers,
        clock,
        until_deleted=config.cancel_on_deletion,
    )
    queue = RunQueue(
        name,
        RunSettings(config.retry, config.max_interval or 0.0, config.rate_limit),
        stopping=stopping,
        ownership=services.ownership,
        on_crash=services.crashed,
        metrics=queue_metrics(name, services.metrics),
        fair_by=attrgetter("namespace") if config.fair_namespaces else None,
        clock=clock,
    )
    sources = ControllerSources(
        config,
        declaration,
        shape,
        services,
        client=client,
        namespaces=_namespaces_of(primary, config, services.namespaces),
        queue=queue,
        metrics=metrics,
        timers=timers,
        default_predicates=_default_predicates(config, keeper, finalizers),
        deleting=deadlines.deleted,
        finalizers=finalizers,
    )
    parts = ControllerParts(
        controller=name,
        primary=primary,
        client=client,
        recorder=services.recorder(name),
        clock=clock,
        values=services.values,
        secondaries=sources.secondaries,
        event_loop=services.event_loop,
        config=config,
        shape=shape,
        finalizer=finalizer,
        finalizers=finalizers,
        cache=services.cache.declare(declaration.primary, declaration.projection),
        selector=selector_of(config.labels),
        notes=_notes_of(declaration, config, keeper),
        keeper=keeper,
        metrics=metrics,
        deadlines=deadlines,
        stopping=stopping,
        removed_finalizers=lambda: {*finalizers, *services.finalizers(primary)},
    )
    return Controller(services, declaration, parts, sources, queue, timers)


def _notes_of(
    declaration: Declaration, config: ControllerConfig, keeper: Keeper | None
) -> StatusNotes:
    return StatusNotes(
        declaration.primary,
        config.name,
        config.reporter,
        generation_aware=config.generation_aware,
        keeper=keeper,
    )


def _default_predicates(
    config: ControllerConfig, keeper: Keeper | None, finalizers: tuple[str, ...]
) -> list[Predicate]:
    found = [] if keeper is None else [keeper.wakes()]
    if config.default_filter and config.generation_aware:
        found.append(worth_a_reconcile(minds_finalizers=bool(finalizers)))
    return found


def _check_deletion(shape: Shape, config: ControllerConfig) -> None:
    if config.on_deleted and (shape.cleanup is not None or shape.reconcile is None):
        raise DeclarationError(
            f"controller {config.name}: on_deleted calls reconcile(self, ctx, obj) with what is "
            "gone already; it goes together neither with cleanup nor with reconcile_key"
        )


def _all_finalizers(shape: Shape, own: str | None) -> tuple[str, ...]:
    named = shape.finalizers.names()
    if own is None:
        return named
    if own in named:
        raise DeclarationError(f"finalizer {own!r} is that of cleanup; register another name")
    return (*named, own)


def _finalizer_of(primary: APIResource, config: ControllerConfig) -> str:
    if config.finalizer is None:
        raise DeclarationError(
            f"controller {config.name}: without a finalizer the clean-up would never be called; "
            "leave finalizer=... out, or remove cleanup and the dependents that have to be deleted"
        )
    if config.finalizer == AUTOMATIC:
        return default_finalizer(primary)
    return checked_finalizer(config.finalizer, config.name)


def _namespaces_of(
    primary: APIResource, config: ControllerConfig, managers: NamespaceSet
) -> NamespaceSet:
    if config.namespaces is None:
        return managers if primary.namespaced else EVERYWHERE
    if not primary.namespaced:
        raise ConfigError(f"controller {config.name}: {primary.kind} has no namespaces")
    return namespace_set(config.namespaces)
