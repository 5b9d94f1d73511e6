"""``clientgo perturb``: disturb a controller at each of its writes, and see how it ends.

::

    clientgo perturb my_project.testing:run_controller --manifest crd.yaml --manifest foo.yaml

The function takes a ``RestConfig`` and returns a context manager in which the controller runs. See
:func:`clientgo.testing.perturb.perturb`.
"""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
from pathlib import Path

from clientgo.testing.perturb import PERTURBATIONS, PerturbError, Report, perturb
from clientgo.tools.cli.inputs import UsageError, load_function, read_manifests
from clientgo.util.text.escapes import escaped
from clientgo.util.text.terminal import CommandParser, ExitStatus, complain


def configure(parser: CommandParser) -> None:
    """Add the arguments; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo perturb my_project.testing:run --manifest crd.yaml --manifest foo.yaml",
        "clientgo perturb my_project.testing:run --manifest all.yaml \\",
        "    --only 'crash-after: create deployments default/foo'",
        statuses="0, it ends well in every run; 1, it does not; 2, it can't be tested;\n"
        "  130, interrupted",
    )
    parser.add_argument(
        "controller", metavar="MODULE:FUNCTION", help="runs the controller with a RestConfig"
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        action="append",
        required=True,
        type=Path,
        help="objects to create; definitions and namespaces are there before the controller",
    )
    parser.add_argument(
        "--beside", metavar="MODULE:FUNCTION", help="runs what else a cluster has, undisturbed"
    )
    parser.add_argument(
        "--normalise",
        metavar="MODULE:FUNCTION",
        help="takes an object as a dict, and returns it without what may differ",
    )
    parser.add_argument("--only", metavar="NAME", default="", help="repeat one run by its name")
    parser.add_argument(
        "--perturbation",
        metavar="NAME",
        action="append",
        choices=list(PERTURBATIONS),
        help=f"one of: {', '.join(PERTURBATIONS)} (default: all)",
    )
    parser.add_argument(
        "--quiet",
        metavar="SECONDS",
        type=float,
        default=0.5,
        help="a controller that writes nothing for so long has settled (default: 0.5)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="the time of a run to reach the undisturbed state (default: 60)",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=4, help="runs at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the controller's log")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO if options.verbose else logging.CRITICAL)
    try:
        report = _perturb(options)
    except (UsageError, PerturbError) as error:
        first, *rest = str(error).splitlines()
        complain("clientgo perturb", first)
        for line in rest:  # a difference between objects has a line for each field
            print(escaped(line), file=sys.stderr)
        return ExitStatus.USAGE
    if not report.outcomes:
        complain("clientgo perturb", f"no run is called {options.only!r}")
        return ExitStatus.USAGE
    print(report.table())
    for outcome in report.failures:
        print(f"\n{outcome.described(report.command)}")
    print(f"\n{report.summary()}")
    return 1 if report.failures else 0


def _perturb(options: argparse.Namespace) -> Report:
    return perturb(
        load_function(options.controller),
        manifests=read_manifests(options.manifest),
        beside=None if options.beside is None else load_function(options.beside),
        normalise=None if options.normalise is None else load_function(options.normalise),
        perturbations=options.perturbation or tuple(PERTURBATIONS),
        only=options.only,
        quiet=options.quiet,
        timeout=options.timeout,
        jobs=options.jobs,
        command=_command(options),
    )


def _command(options: argparse.Namespace) -> str:
    words = ["clientgo", "perturb", options.controller]
    for file in options.manifest:
        words += ["--manifest", str(file)]
    for name in ("beside", "normalise"):
        if function := getattr(options, name):
            words += [f"--{name}", function]
    return f"{shlex.join(words)} --only ONLY"
