"""``clientgo apiserver``: the embedded API server as a program.

Promises: it writes a kubeconfig, prints its URL, and serves until a signal stops it, or until the
command ends that it runs with ``-- COMMAND``. It listens on loopback; on other addresses only with
a token and TLS.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from clientgo.apiserver.auth.authentication.shared_token import read_token
from clientgo.apiserver.faults.control import CONTROL_PATH
from clientgo.apiserver.kubeconfig import write_kubeconfig
from clientgo.apiserver.server import EmbeddedAPIServer
from clientgo.apiserver.storage.data_directory import DataDirectoryError
from clientgo.certificates import ServingCertificate

_USAGE_ERROR = 2
"""The exit status of argparse for invalid options."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options; ``run`` is what an invocation calls."""
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_parse_address,
        help="address to listen on (default 127.0.0.1:8001, or a free port with COMMAND; port 0 "
        "takes a free one); one that other machines reach needs a token and TLS, see --secure",
    )
    parser.add_argument(
        "--kubeconfig", metavar="PATH", type=Path, help="write a kubeconfig for this server to PATH"
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="keep the cluster in DIR, so that it is there again when the server is started again "
        "(default: in memory)",
    )
    parser.add_argument(
        "--faults",
        action="store_true",
        help=f"let clients make the server misbehave, through {CONTROL_PATH}",
    )
    parser.add_argument(
        "--secure",
        action="store_true",
        help="ask for a token, over TLS; what is not given by the options below is made, and the "
        "kubeconfig carries it",
    )
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", help="ask for this token (other users can see it, better:)")
    token.add_argument("--token-file", metavar="PATH", type=Path, help="ask for the token in PATH")
    parser.add_argument(
        "--tls-cert", metavar="PATH", type=Path, help="use TLS with this certificate, in PEM"
    )
    parser.add_argument("--tls-key", metavar="PATH", type=Path, help="its private key")
    parser.add_argument(
        "--tls-ca", metavar="PATH", type=Path, help="what clients must trust, for the kubeconfig"
    )
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs="*",
        help="after --: run this when the server is ready, with KUBECONFIG set, and stop the "
        "server when it ends; the exit status is the command's",
    )
    parser.set_defaults(run=run)


def _parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form HOST:PORT")
    return host or "0.0.0.0", int(port)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM, or until the command ends; return the exit status."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    options.listen = options.listen or ("127.0.0.1", 0 if options.command else 8001)
    host, port = options.listen
    try:
        server = _make_server(options)
    except (OSError, ValueError) as error:
        print(f"clientgo apiserver: {error}", file=sys.stderr)
        return _USAGE_ERROR
    try:
        server.start()
    except DataDirectoryError as error:
        print(f"clientgo apiserver: {error}", file=sys.stderr)
        return 1
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
        if options.command:
            return _run_command(options.command, kubeconfig, stop)
        stop.wait()
    except OSError as error:
        print(f"can't write {options.kubeconfig}: {error.strerror}", file=sys.stderr)
        return 1
    finally:
        server.stop()
    return 0


def _run_command(command: Sequence[str], kubeconfig: Path, stop: threading.Event) -> int:
    """Run a command with KUBECONFIG set; return its exit status, as a shell does."""
    try:
        child = subprocess.Popen(command, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    except OSError as error:
        print(f"clientgo apiserver: can't run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    # Ctrl-C reaches the command too, since it is in the terminal's foreground group.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    if stop.is_set():  # a signal came before there was a command to stop
        child.terminate()
    status = child.wait()
    return status if status >= 0 else 128 - status


def _make_server(options: argparse.Namespace) -> EmbeddedAPIServer:
    """Return a server with the options.

    Raises:
        OSError: the token's file can't be read.
        ValueError: the options contradict each other.
    """
    host, port = options.listen
    token = read_token(options.token_file) if options.token_file else options.token
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ValueError("--tls-cert and --tls-key go together")
    certificate = None
    if options.tls_cert is not None:
        certificate = ServingCertificate(options.tls_cert, options.tls_key, options.tls_ca)
    return EmbeddedAPIServer(
        host,
        port,
        fault_control=options.faults,
        token=token,
        certificate=certificate,
        secure=options.secure,
        data_dir=options.data_dir,
    )
