"""Run the Foo controller against a cluster: ``python -m sample_controller --kubeconfig PATH``."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Sequence

from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.observe.logs import setup_logging
from clientgo.record import EventBroadcaster, EventSink
from clientgo.rest import ConfigError, load_config
from clientgo.util.wait import setup_signal_handler
from sample_controller.controller import NAME, Controller

RESYNC = 30.0
"""Seconds after which the handlers get every object again."""

log = logging.getLogger("sample_controller")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; return the exit code. A second signal exits immediately."""
    parser = argparse.ArgumentParser(prog="python -m sample_controller", allow_abbrev=False)
    add = parser.add_argument
    add("--kubeconfig", metavar="PATH", help="kubeconfig; else $KUBECONFIG, else in-cluster")
    add("--master", metavar="URL", help="API server; overrides the kubeconfig's")
    add("-v", "--verbose", action="store_true", help="log each step")
    options = parser.parse_args(arguments)

    setup_logging(logging.DEBUG if options.verbose else logging.INFO)
    stop = setup_signal_handler()
    try:
        config = load_config(kubeconfig=options.kubeconfig, master=options.master)
    except ConfigError as error:
        log.error("%s", error)
        return 1
    with Client(config) as client:
        run(client, stop)
    return 0


def run(client: Client, stop: threading.Event, workers: int = 2, *, resync: float = RESYNC) -> None:
    """Connect the parts and run them until ``stop`` is set."""
    with EventBroadcaster() as broadcaster, SharedInformerFactory(client, resync) as factory:
        broadcaster.start_structured_logging()
        broadcaster.start_recording_to_sink(EventSink(client))
        controller = Controller(client, factory, broadcaster.new_recorder(NAME))
        # The handlers are registered, so the informers can start. They run in threads.
        factory.start(stop)
        controller.run(stop, workers)


if __name__ == "__main__":
    sys.exit(main())
