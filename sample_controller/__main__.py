"""Run the Foo controller against a cluster: ``python -m sample_controller --kubeconfig PATH``."""

from __future__ import annotations

import argparse
import logging
import sys

from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.record import EventBroadcaster, EventSink
from clientgo.rest import ConfigError, load_config
from clientgo.wait import setup_signal_handler
from sample_controller.controller import NAME, Controller

log = logging.getLogger(NAME)


def main(argv: list[str] | None = None) -> int:
    """Wire the parts together and run until a signal; returns the exit code."""
    args = parse_arguments(argv)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    stop = setup_signal_handler()
    try:
        config = load_config(kubeconfig=args.kubeconfig, master=args.master)
    except ConfigError as error:
        log.error("%s", error)
        return 1

    with Client(config) as client, EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(EventSink(client))
        factory = SharedInformerFactory(
            client, default_resync=args.resync, namespace=args.namespace
        )
        controller = Controller(client, factory, broadcaster.new_recorder(NAME))
        # Handlers are registered by now; informers are started after that so that none misses
        # its initial events.
        factory.start(stop)
        try:
            controller.run(stop, workers=args.workers)
        finally:
            stop.set()
            factory.shutdown()
    return 0


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sample_controller", description=__doc__)
    parser.add_argument(
        "--kubeconfig", metavar="PATH", help="kubeconfig; else $KUBECONFIG, else in-cluster"
    )
    parser.add_argument("--master", metavar="URL", help="API server; overrides the kubeconfig's")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="worker threads (2)")
    parser.add_argument(
        "--resync",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="look at everything again so often (30)",
    )
    parser.add_argument("--namespace", default="", metavar="NS", help="watch one namespace (all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="log every step")
    args = parser.parse_args(argv)
    if args.workers < 1:
        parser.error("--workers must be at least 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
