"""See a key travel: every hop of one Foo, with the sample controller and a server of its own.

``python -m examples.trace_a_key`` prints one block for each key; ``--json FILE`` also writes the
trace for https://ui.perfetto.dev, ``--lines`` prints a line for each hop as it happens.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from clientgo.client import Client
from clientgo.observe.trace import ChromeTracer, Recorder, TextTracer, Tracer, by_key, tracing
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from sample_controller.demo import artifact, install_crd, run_controller, running
from sample_controller.types import Foo


def main(lines: bool = False, json: Path | None = None) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedAPIServer())
        user = stack.enter_context(Client(RestConfig(server=server.url)))
        install_crd(user)

        # What is made from here on is traced; the user's client was made before.
        recorder = Recorder()
        tracers: list[Tracer] = [recorder]
        if lines:
            tracers.append(TextTracer(sys.stdout))
        if json is not None:
            tracers.append(ChromeTracer(stack.enter_context(json.open("w", encoding="utf-8"))))
        stack.enter_context(tracing(*tracers))
        client = stack.enter_context(Client(RestConfig(server=server.url)))
        stack.enter_context(running("controller", lambda stop: run_controller(client, stop)))

        # The watch of Foos is up to date when its first bookmark has arrived.
        recorder.wait_for(lambda hop: hop.of == "Foo" and hop.details.get("type") == "BOOKMARK")
        user.resource(Foo).namespace("default").create(artifact("example-foo.yaml"))

        # The sync creates a Deployment, whose event leads to another sync of the same key.
        created = recorder.wait_for(
            lambda hop: hop.hop == "handler.call" and hop.of == "Deployment"
        )
        started = recorder.wait_for(lambda hop: hop.hop == "sync.start", after=created.n)
        recorder.wait_for(lambda hop: hop.hop == "queue.done", after=started.n)
        if not lines:
            print(by_key(recorder.hops()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", action="store_true", help="print a line for each hop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a trace for Perfetto")
    options = parser.parse_args()
    main(options.lines, options.json)
