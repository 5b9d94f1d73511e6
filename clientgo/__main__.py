"""The ``clientgo`` program: one command per tool that the package brings.

Only the command that was asked for is loaded: the API server starts in half the time if the code
generator stays out of its way. The exit statuses are in :mod:`clientgo.util.text.terminal`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from clientgo.util.extras import MissingExtraError, needing_extra
from clientgo.util.text.completion import REQUEST, candidates
from clientgo.util.text.terminal import CommandParser, ExitStatus, complain

_COMMANDS = {
    "apiserver": (
        "clientgo.tools.cli.apiserver",
        "serve the Kubernetes API from memory, for development and tests",
    ),
    "bench": ("clientgo.tools.cli.bench", "measure the queue and the informer of this machine"),
    "completion": (
        "clientgo.tools.cli.completion",
        "let a shell complete the arguments of clientgo",
    ),
    "debug": ("clientgo.tools.cli.debug", "show why nothing happens in a program that is running"),
    "gen": ("clientgo.tools.cli.gen", "generate types, manifests and clients"),
    "operator": (
        "clientgo.tools.cli.operator",
        "begin an operator, generate for it, run and deploy it",
    ),
    "perturb": ("clientgo.tools.cli.perturb", "disturb a controller at each of its writes"),
    "study": ("clientgo.tools.cli.study", "watch a key travel through a controller, on a page"),
    "watch": ("clientgo.tools.cli.watch", "show the objects of a kind as they change"),
}
"""Module and help of each command; the module has a ``configure`` for the command's parser."""

_EXTRAS = {"bench": "apiserver", "gen": "schema", "perturb": "apiserver", "study": "apiserver"}
"""The extra of each command that is not called like its extra."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    try:
        if given[:1] == [REQUEST]:
            print("\n".join(candidates(parser, given[1:], _load)))
            return ExitStatus.OK
        if given[:1] and given[0] in _COMMANDS:
            _load(given[0], _command_of(parser, given[0]))
        options = parser.parse_args(given)
        status: int = options.run(options)
    except MissingExtraError as error:
        complain("clientgo", error)
        return ExitStatus.FAILED
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # The program that read the output has ended. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    return status


def _parser() -> CommandParser:
    parser = CommandParser(prog="clientgo", description="The tools of clientgo.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.show_examples(
        "clientgo apiserver --workloads",
        "clientgo watch pods -A",
        "clientgo operator init demo",
        "clientgo COMMAND --help",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (_, help_text) in _COMMANDS.items():
        commands.add_parser(
            name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}."
        )
    return parser


class _Version(argparse.Action):
    """Print the version; it is looked up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"clientgo {version('clientgo')}")
        parser.exit()


def _command_of(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    [commands] = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    command: argparse.ArgumentParser = commands.choices[name]
    return command


def _load(name: str, command: argparse.ArgumentParser) -> None:
    """Give a command its arguments."""
    if name in _COMMANDS and command.prog == f"clientgo {name}":
        with needing_extra(_EXTRAS.get(name, name), f"clientgo {name}"):
            import_module(_COMMANDS[name][0]).configure(command)


if __name__ == "__main__":
    sys.exit(main())
