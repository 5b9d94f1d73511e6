"""Health checks and metrics over HTTP, if the options ask for them.

``/healthz`` fails if a restart helps, ``/readyz`` if waiting helps. An API server that is down
fails neither: restarting its clients does not help.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from clientgo.informers import check_alive, check_synced
from clientgo.leaderelection import LeaderHealth
from clientgo.observe.metrics import set_default_provider
from clientgo.observe.serving import HealthChecks, Server
from sample_controller.controller import Controller
from sample_controller.options import Options


def count_metrics() -> None:
    """Count in the registry that ``/metrics`` shows; call it before the parts are made."""
    from clientgo.observe.metrics.prometheus import PrometheusProvider

    set_default_provider(PrometheusProvider())


@contextmanager
def endpoints(options: Options, controller: Controller, election: LeaderHealth) -> Iterator[None]:
    """Serve what the options ask for until the end of the block.

    Raises :class:`~clientgo.observe.serving.ServingError` if it cannot listen.
    """
    with ExitStack() as stack:
        if options.health_probe_bind_address:
            pages = {
                "/healthz": liveness(controller, election).respond,
                "/readyz": readiness(controller).respond,
            }
            stack.enter_context(Server(options.health_probe_bind_address, pages, name="probes"))
        if options.metrics_bind_address:
            from clientgo.observe.serving.metrics import metrics_handler

            page = {"/metrics": metrics_handler()}
            stack.enter_context(Server(options.metrics_bind_address, page, name="metrics"))
        yield


def liveness(controller: Controller, election: LeaderHealth) -> HealthChecks:
    """Return the checks that fail when this process cannot do its work any more."""
    checks = HealthChecks("healthz")
    for informer in controller.informers:
        checks.add(f"informer-{informer.name}", partial(check_alive, informer))
    checks.add("workers", controller.check_workers)
    checks.add(election.name, election.check)
    return checks


def readiness(controller: Controller) -> HealthChecks:
    """Return the checks that fail while the caches are not filled."""
    checks = HealthChecks("readyz")
    for informer in controller.informers:
        checks.add(f"informer-sync-{informer.name}", partial(check_synced, informer))
    return checks
