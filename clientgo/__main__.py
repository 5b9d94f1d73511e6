"""The ``clientgo`` program: one command per tool that the package brings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from clientgo.apiserver import cli as apiserver_cli
from clientgo.cli import gen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="clientgo", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    apiserver_cli.add_parser(commands)
    gen.add_parser(commands)
    options = parser.parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
