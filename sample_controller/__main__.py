"""Run the Foo controller against a cluster: ``python -m sample_controller --kubeconfig PATH``.

:func:`main` calls :func:`run`, which connects the parts and calls
:meth:`Controller.run <sample_controller.controller.Controller.run>`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from clientgo.cache import InformerName
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderHealth,
    WorkStillRunningError,
    lease_lock_from_config,
    run_or_raise,
    unique_identity,
)
from clientgo.meta import ObjectName
from clientgo.observe.logs import setup_logging
from clientgo.observe.serving import ServingError
from clientgo.observe.trace import ChromeTracer, TextTracer, Tracer, tracing
from clientgo.record import EventBroadcaster, EventRecorder, EventSink
from clientgo.rest import ConfigError, load_config
from clientgo.sharding import (
    Ownership,
    process_number,
    run_processes,
    shard_member,
    stop_with_parent,
    work_in_shards,
)
from clientgo.util.wait import setup_signal_handler
from sample_controller.controller import NAME, Controller
from sample_controller.endpoints import count_metrics, endpoints
from sample_controller.options import Election, Options, parse_options

log = logging.getLogger("sample_controller")


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
    if options.metrics_bind_address:
        count_metrics()
    try:
        config = load_config(kubeconfig=options.kubeconfig, master=options.master)
        config = replace(config, qps=options.qps, burst=options.burst)
        with traced(options), InformerName(NAME) as name, Client(config) as client:
            return run(client, options, stop, name)
    except (ConfigError, ServingError, TraceFileError) as error:
        log.error("%s", error)
        return 1


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


def run(
    client: Client,
    options: Options,
    stop: threading.Event,
    informer_name: InformerName | None = None,
) -> int:
    """Connect the parts and run them until ``stop`` is set; return the exit code.

    The informers report metrics under ``informer_name``, of which a process has one.
    """
    with (
        EventBroadcaster() as broadcaster,
        SharedInformerFactory(
            client, options.resync, namespace=options.namespace, informer_name=informer_name
        ) as factory,
    ):
        broadcaster.start_structured_logging()
        broadcaster.start_recording_to_sink(EventSink(client))
        recorder = broadcaster.new_recorder(NAME)
        ownership: Ownership[ObjectName] | None = None
        if options.shards:
            ownership = Ownership(options.shards)
        controller = Controller(client, factory, recorder, ownership)
        health = LeaderHealth(tolerance=20.0)

        def work(stop: threading.Event) -> None:
            controller.run(stop, options.workers)

        with endpoints(options, controller, health):
            # The handlers are registered, so the informers can start. They run on a standby too,
            # so that its caches are filled when it is elected.
            factory.start(stop)
            if options.election is None:
                work(stop)
                return 0
            if ownership is not None:
                return work_together(work, client, options.election, controller, ownership, stop)
            return work_while_leading(work, client, options.election, recorder, health, stop)


def work_while_leading(
    work: Callable[[threading.Event], None],
    client: Client,
    election: Election,
    recorder: EventRecorder,
    health: LeaderHealth,
    stop: threading.Event,
) -> int:
    """Wait until this process is elected, then work until ``stop`` is set or the lease is lost.

    A process that loses its lease exits: its replacement starts with empty state.
    """
    lock = lease_lock_from_config(
        client.config,
        election.namespace,
        election.name,
        unique_identity(),
        timing=election.timing,
        recorder=recorder,
    )
    config = LeaderElectionConfig(
        lock=lock,
        timing=election.timing,
        on_started_leading=lambda leadership: work(leadership.stop),
        on_stopped_leading=lambda led: log.info("no longer leading" if led else "never led"),
        on_new_leader=lambda leader: log.info("the leader is %s", leader or "not known"),
        health=health,
    )
    try:
        ending = run_or_raise(config, stop)
    except WorkStillRunningError as error:
        log.critical("%s", error)
        os._exit(1)  # a graceful exit takes time, and another leader may start
    if ending is Ending.LOST:
        log.error("leadership was lost; exiting, to be restarted")
        return 1
    return 0


def work_together(
    work: Callable[[threading.Event], None],
    client: Client,
    meeting: Election,
    controller: Controller,
    ownership: Ownership[ObjectName],
    stop: threading.Event,
) -> int:
    """Work on our share of the Foos until ``stop`` is set."""
    member = shard_member(
        client.config,
        meeting.namespace,
        meeting.name,
        ownership,
        on_acquired=controller.enqueue_shards,
        timing=meeting.timing,
    )
    try:
        work_in_shards(member, work, stop)
    except WorkStillRunningError as error:
        log.critical("%s", error)
        os._exit(1)  # another process may start the same work
    return 0


if __name__ == "__main__":
    sys.exit(main())
