"""``clientgo apiserver``: the embedded API server and, with ``--workloads``, a cluster that moves.

The server's own options are in :mod:`clientgo.testcluster.server.cli`; the simulator is loaded
only if it is asked for.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server import cli as server_command
from clientgo.util.text.terminal import CommandParser


def configure(parser: CommandParser) -> None:
    """Add the command's options; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo apiserver --kubeconfig ./kubeconfig",
        "clientgo apiserver --workloads --nodes 5 --stages stages.yaml",
        "clientgo apiserver --data-dir ./cluster --authorization-mode=RBAC",
        statuses="0, stopped by Ctrl-C or SIGTERM; 1, it can't start, or lost its last changes; "
        "2, wrong arguments",
    )
    server_command.configure(parser)
    parser.add_argument(
        "--workloads",
        action="store_true",
        help="simulate controllers, scheduler and kubelets, so that pods start and become ready",
    )
    parser.add_argument(
        "--nodes", metavar="N", type=int, default=3, help="with --workloads: create N nodes (3)"
    )
    parser.add_argument(
        "--stages",
        metavar="FILE",
        type=_rules,
        default=(),
        help="with --workloads: rules for how pods start, fail and end, in YAML",
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="with --workloads: what decides jitter (0)"
    )
    parser.set_defaults(beside=_beside)


def _rules(path: str) -> Any:
    from clientgo.operator.errors import ConfigError
    from clientgo.testcluster.workloads import load_rules

    try:
        return load_rules(Path(path))
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _beside(
    options: argparse.Namespace, server: EmbeddedAPIServer
) -> AbstractContextManager[object]:
    """Return what runs as long as the server does."""
    if not options.workloads:
        return nullcontext()
    from clientgo.testcluster.workloads import simulate

    return simulate(server, nodes=options.nodes, stages=options.stages, seed=options.seed)
