"""The ``clientgo`` program: one command per tool that the package brings.

Only the command that was asked for is loaded: the API server starts in half the time if the code
generator stays out of its way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from clientgo.extras import MissingExtraError, needing_extra

_COMMANDS = {
    "apiserver": (
        "clientgo.cli.apiserver",
        "serve the Kubernetes API from memory, for development and tests",
    ),
    "debug": ("clientgo.cli.debug", "show why nothing happens in a program that is running"),
    "gen": ("clientgo.cli.gen", "generate types, manifests and clients"),
    "operator": ("clientgo.cli.operator", "begin an operator, generate for it, run and deploy it"),
    "perturb": ("clientgo.cli.perturb", "disturb a controller at each of its writes"),
    "study": ("clientgo.cli.study", "watch a key travel through a controller, on a page"),
    "watch": ("clientgo.cli.watch", "show the objects of a kind as they change"),
}
"""Module and help of each command; the module has a ``configure`` for the command's parser."""


_EXTRAS = {"gen": "schema", "perturb": "apiserver", "study": "apiserver"}
"""The extra of each command that is not called like its extra."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="clientgo", description="The tools of clientgo.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (module, help_text) in _COMMANDS.items():
        command = commands.add_parser(name, help=help_text)
        if name in given[:1]:
            try:
                with needing_extra(_EXTRAS.get(name, name), f"clientgo {name}"):
                    import_module(module).configure(command)
            except MissingExtraError as error:
                print(error, file=sys.stderr)
                return 1
    options = parser.parse_args(given)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
