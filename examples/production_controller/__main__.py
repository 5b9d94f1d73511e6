"""Run the Foo controller in production: ``python -m examples.production_controller --help``.

:class:`~clientgo.control_loop.ControlLoop` elects a leader or shares the Foos, serves probes and
metrics, and runs the workers. What is done to a Foo is the sample's
:meth:`FooSyncer.sync <sample_controller.controller.FooSyncer.sync>`, which here waits until the
caches have what it wrote before.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from clientgo.api.apps_v1 import Deployment
from clientgo.cache import REAL_FIFO, ConsistencyStore, InformerName
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.informers import SharedInformerFactory
from clientgo.leaderelection import USUAL_TIMING, LeadershipLostError, WorkStillRunningError
from clientgo.meta import ObjectName
from clientgo.observe.logs import setup_logging
from clientgo.observe.metrics import set_default_provider
from clientgo.observe.serving import ServingError
from clientgo.observe.trace import ChromeTracer, TextTracer, Tracer, tracing
from clientgo.record import EventBroadcaster, EventRecorder, EventSink
from clientgo.rest import ConfigError, load_config
from clientgo.sharding import process_number, run_processes, stop_with_parent
from clientgo.util.wait import setup_signal_handler
from examples.production_controller.options import Options, parse_options
from sample_controller.controller import NAME, FooSyncer, owner_of
from sample_controller.types import Foo

log = logging.getLogger("examples.production_controller")


class TraceFileError(Exception):
    """The file of ``--trace-json`` cannot be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; return the exit code. A second signal exits immediately."""
    options = parse_options(arguments)
    if options.processes > 1 and not process_number():
        return run_processes(options.processes)
    setup_logging(logging.DEBUG if options.verbose else logging.INFO, json=options.log_json)
    stop = setup_signal_handler()
    stop_with_parent(stop)
    try:
        config = load_config(kubeconfig=options.kubeconfig, master=options.master)
        config = replace(config, qps=options.qps, burst=options.burst)
        if options.metrics_bind_address:
            count_metrics()
        with traced(options), Client(config) as client:
            run(client, options, stop)
    except (ConfigError, ServingError, TraceFileError) as error:
        log.error("%s", error)
        return 1
    except LeadershipLostError as error:
        # The process that takes its place starts with empty state.
        log.error("leadership was lost: %s; exiting, to be restarted", error)
        return 1
    except WorkStillRunningError as error:
        log.critical("%s", error)
        os._exit(1)  # a graceful exit takes time, and another process may start the same work
    return 0


def run(client: Client, options: Options, stop: threading.Event) -> None:
    """Connect the parts and run them until ``stop`` is set.

    Raises what :meth:`ControlLoop.run <clientgo.control_loop.ControlLoop.run>` raises.
    """
    election = options.election
    with EventBroadcaster() as broadcaster, InformerName(NAME) as informer_name:
        broadcaster.start_structured_logging()
        broadcaster.start_recording_to_sink(EventSink(client))
        recorder = broadcaster.new_recorder(NAME)
        loop = ControlLoop(
            client,
            NAME,
            namespace=options.namespace,
            resync=options.resync,
            lease=str(election) if election else "",
            shards=options.shards,
            timing=election.timing if election else USUAL_TIMING,
            health=options.health_probe_bind_address,
            metrics=options.metrics_bind_address,
            recorder=recorder,
            informer_name=informer_name,
            informer_queue=REAL_FIFO,  # its caches have a version, to be compared with writes
        )
        loop.watch(Foo)
        loop.watch(Deployment, owners)
        informers = loop.factory.informers()
        written = ConsistencyStore({kind: informers[kind].indexer for kind in informers})
        syncer = ConsistentSyncer(written, client, loop.factory, recorder)
        loop.run(syncer.sync, stop, workers=options.workers)


class ConsistentSyncer(FooSyncer):
    """Syncs no Foo while a cache is older than the Deployment that was written for it.

    A status that is written from an old Foo is refused by the API server, so it is not recorded.
    """

    def __init__(
        self,
        written: ConsistencyStore,
        client: Client,
        factory: SharedInformerFactory,
        recorder: EventRecorder,
    ) -> None:
        super().__init__(client, factory, recorder)
        self._written = written

    def sync(self, name: ObjectName) -> None:
        self._written.ensure_ready(name)  # raises; ControlLoop calls again a little later
        super().sync(name)

    def _ensure_deployment(self, foo: Foo) -> Deployment:
        deployment = super()._ensure_deployment(foo)
        self._written.wrote(foo, deployment)
        return deployment


def owners(deployment: Deployment) -> Iterable[ObjectName]:
    """Return the key of the Foo that controls a Deployment, if one does."""
    name = owner_of(deployment)
    return [] if name is None else [name]


def count_metrics() -> None:
    """Count in the registry that ``/metrics`` shows; call it before the client is made."""
    from clientgo.observe.metrics.prometheus import PrometheusProvider  # with the extra

    set_default_provider(PrometheusProvider())


@contextmanager
def traced(options: Options) -> Iterator[None]:
    """Trace what is made in the block, if the command line asks for it."""
    with ExitStack() as stack:
        tracers: list[Tracer] = []
        if options.trace:
            tracers.append(TextTracer(sys.stdout))
        if options.trace_json is not None:
            tracers.append(ChromeTracer(stack.enter_context(_opened(options.trace_json))))
        if tracers:
            stack.enter_context(tracing(*tracers))
        yield


def _opened(file: Path) -> TextIO:
    try:
        return file.open("w", encoding="utf-8")
    except OSError as error:
        raise TraceFileError(f"--trace-json: {error}; name a file that can be written") from error


if __name__ == "__main__":
    sys.exit(main())
