"""``clientgo apiserver``: the embedded API server as a program.

Promises: it writes a kubeconfig, prints its URL, and serves until a signal stops it, or until the
command ends that it runs with ``-- COMMAND``. It asks for a token, over TLS, unless it is told to
serve every program of this machine.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from clientgo.observe.logs import DescriptorHandler
from clientgo.observe.serving import ServingCertificate
from clientgo.testcluster.server.auth.access import AuthorizationMode
from clientgo.testcluster.server.auth.authentication.shared_token import read_token
from clientgo.testcluster.server.auth.authentication.token_file import has_users, read_users
from clientgo.testcluster.server.faults.control import CONTROL_PATH
from clientgo.testcluster.server.kubeconfig import write_kubeconfig
from clientgo.testcluster.server.server import KUBERNETES_VERSIONS, EmbeddedAPIServer
from clientgo.testcluster.server.storage.data_directory import DataDirectoryError
from clientgo.util.process import raise_file_limit
from clientgo.util.text.terminal import complain
from clientgo.util.wait import call_on_signals, stop_on_signals

_USAGE_ERROR = 2
"""The exit status of argparse for invalid options."""

_OPEN_FILES = 4096
"""Files that the process may open, if the system lets it: each connection is one. macOS begins with
256."""

_STDERR = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options; ``run`` is what an invocation calls.

    ``beside(options, server)`` returns the context in which the server serves.
    """
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_parse_address,
        help="address to listen on (default 127.0.0.1:8001, or a free port with COMMAND; port 0 "
        "takes a free one)",
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
    access = parser.add_mutually_exclusive_group()
    access.add_argument(
        "--secure",
        action="store_true",
        help="ask for a token, over TLS; what is not given by the options below is made, and the "
        "kubeconfig has it (default)",
    )
    access.add_argument(
        "--insecure-loopback",
        action="store_true",
        help="plain HTTP without a token: for curl, and for machines that you share with no one",
    )
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", help="ask for this token (other users can see it, better:)")
    token.add_argument(
        "--token-file",
        metavar="PATH",
        type=Path,
        help="ask for the token in PATH; or for one of several, if each line has a token, a user, "
        'a uid and "groups", separated by commas',
    )
    parser.add_argument(
        "--authorization-mode",
        metavar="MODE",
        choices=[mode.value for mode in AuthorizationMode],
        default=AuthorizationMode.ALWAYS_ALLOW,
        help="AlwaysAllow (default), or RBAC: roles and bindings decide what a client may do",
    )
    parser.add_argument(
        "--service-accounts",
        action="store_true",
        help="give each namespace a default account, and run pods as accounts that exist, as a "
        "cluster with controllers does",
    )
    parser.add_argument(
        "--kubernetes-version",
        choices=KUBERNETES_VERSIONS,
        default=KUBERNETES_VERSIONS[0],
        help=f"what the server is like (default {KUBERNETES_VERSIONS[0]}); with 1.37, answers to "
        "deletions have a resource version",
    )
    parser.add_argument(
        "--tls-cert", metavar="PATH", type=Path, help="use TLS with this certificate, in PEM"
    )
    parser.add_argument("--tls-key", metavar="PATH", type=Path, help="its private key")
    parser.add_argument(
        "--tls-ca", metavar="PATH", type=Path, help="what clients must trust, for the kubeconfig"
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="answer to this name too (localhost, addresses and the host name are answered)",
    )
    parser.add_argument(
        "--allow-origin",
        metavar="URL",
        action="append",
        default=[],
        help="let web pages of this origin use the server, for example http://localhost:3000",
    )
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs="*",
        help="after --: run this when the server is ready, with KUBECONFIG set, and stop the "
        "server when it ends; the exit status is the command's",
    )
    parser.set_defaults(run=run, beside=lambda _options, _server: nullcontext())


def _parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form HOST:PORT")
    return host or "0.0.0.0", int(port)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM, or until the command ends; return the exit status."""
    options.listen = options.listen or ("127.0.0.1", 0 if options.command else 8001)
    raise_file_limit(_OPEN_FILES)
    with _unblocked_log():
        return _run(options)


@contextmanager
def _unblocked_log() -> Iterator[None]:
    """Let logging not wait for a reader of stderr: the server would stand still."""
    before, logging.lastResort = logging.lastResort, DescriptorHandler(_STDERR, logging.WARNING)
    try:
        yield
    finally:
        logging.lastResort = before


def _run(options: argparse.Namespace) -> int:
    try:
        server = _make_server(options)
    except (OSError, ValueError) as error:
        complain("clientgo apiserver", error)
        return _USAGE_ERROR
    if options.command:
        command = _Command(options.command)
        with call_on_signals(command.pass_on):
            status = _serve(server, options, command.run)
    else:
        with stop_on_signals() as stop:
            status = _serve(server, options, lambda _kubeconfig: _wait(stop))
    return status or int(server.has_lost_changes)


def _wait(stop: threading.Event) -> int:
    stop.wait()
    return 0


def _serve(
    server: EmbeddedAPIServer, options: argparse.Namespace, until: Callable[[Path], int]
) -> int:
    """Serve until ``until``, which is given the kubeconfig, returns the exit status."""
    host, port = options.listen
    try:
        server.start()
    except DataDirectoryError as error:
        complain("clientgo apiserver", error)
        return 1
    except OSError as error:
        advice = "; choose another address with --listen"
        complain("clientgo apiserver", f"can't listen on {host}:{port}: {error.strerror}{advice}")
        return 1
    try:
        kubeconfig = server.kubeconfig
        if options.kubeconfig is not None:
            write_kubeconfig(options.kubeconfig, server.kubeconfig_data)
            kubeconfig = options.kubeconfig
        with options.beside(options, server):
            print(f"The API server listens on {server.url}. It is for development and tests only.")
            print(f"Try: kubectl --kubeconfig {kubeconfig} get namespaces", flush=True)
            return until(kubeconfig)
    except OSError as error:
        complain("clientgo apiserver", f"can't write {options.kubeconfig}: {error.strerror}")
        return 1
    finally:
        server.stop()


class _Command:
    """A command that runs while the server does; signals end it, also before it has begun."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def pass_on(self, number: signal.Signals) -> None:
        """End the command because of a signal."""
        with self._lock:
            self._is_over = True
            # Ctrl-C reaches the command too, since it is in the terminal's foreground group.
            if self._child is not None and number == signal.SIGTERM:
                self._child.terminate()

    def run(self, kubeconfig: Path) -> int:
        """Run it with KUBECONFIG set; return its exit status, as a shell does."""
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        try:
            child = subprocess.Popen(self._arguments, env=environment)
        except OSError as error:
            print(
                f"clientgo apiserver: can't run {self._arguments[0]}: {error.strerror}",
                file=sys.stderr,
            )
            return 127
        with self._lock:
            self._child = child
            if self._is_over:
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
    token, users = options.token, {}
    if options.token_file and has_users(options.token_file):
        users = read_users(options.token_file)
    elif options.token_file:
        token = read_token(options.token_file)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ValueError("--tls-cert and --tls-key go together")
    needs_tls = token or users or options.authorization_mode == AuthorizationMode.RBAC
    if options.insecure_loopback and (needs_tls or options.tls_cert):
        raise ValueError(
            "--insecure-loopback goes with neither a token nor a certificate, nor with "
            "--authorization-mode=RBAC, which needs them"
        )
    certificate = None
    if options.tls_cert is not None:
        certificate = ServingCertificate(options.tls_cert, options.tls_key, options.tls_ca)
    return EmbeddedAPIServer(
        host,
        port,
        fault_control=options.faults,
        token=token,
        certificate=certificate,
        secure=not options.insecure_loopback,
        data_dir=options.data_dir,
        allow_hosts=options.allow_host,
        allow_origins=options.allow_origin,
        authorization=options.authorization_mode,
        users=users,
        service_accounts=options.service_accounts,
        kubernetes_version=options.kubernetes_version,
    )
