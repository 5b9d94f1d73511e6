"""``clientgo apiserver``: the embedded API server as a program of its own.

Promises: it writes a kubeconfig, says where it listens, and serves until a signal stops it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from clientgo.apiserver.fault_control import CONTROL_PATH
from clientgo.apiserver.kubeconfig import write_kubeconfig
from clientgo.apiserver.server import EmbeddedAPIServer

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options; ``run`` is what an invocation calls."""
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_parse_address,
        default=("127.0.0.1", 8001),
        help="loopback address to listen on (default 127.0.0.1:8001; port 0 takes a free one)",
    )
    parser.add_argument(
        "--kubeconfig", metavar="PATH", type=Path, help="write a kubeconfig for this server to PATH"
    )
    parser.add_argument(
        "--faults",
        action="store_true",
        help=f"let clients make the server misbehave, through {CONTROL_PATH}",
    )
    parser.set_defaults(run=run)


def _parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form HOST:PORT")
    if host not in _LOOPBACK:
        raise argparse.ArgumentTypeError(
            f"{host!r} is not a loopback address; the server asks nobody for a password, so it "
            f"listens on one of {', '.join(_LOOPBACK)} only"
        )
    return host, int(port)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    host, port = options.listen
    server = EmbeddedAPIServer(host, port, fault_control=options.faults)
    try:
        server.start()
    except OSError as error:
        print(f"can't listen on {host}:{port}: {error.strerror}", file=sys.stderr)
        return 1
    try:
        kubeconfig = server.kubeconfig
        if options.kubeconfig is not None:
            write_kubeconfig(options.kubeconfig, server.kubeconfig_data)
            kubeconfig = options.kubeconfig
        print(f"The API server listens on {server.url}. It is for development and tests only.")
        print(f"Try: kubectl --kubeconfig {kubeconfig} get namespaces", flush=True)
        stop.wait()
    except OSError as error:
        print(f"can't write {options.kubeconfig}: {error.strerror}", file=sys.stderr)
        return 1
    finally:
        server.stop()
    return 0
