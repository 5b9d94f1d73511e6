"""A demonstration on one machine: ``make run``.

Starts the embedded API server, installs the Foo resource and runs the controller with two workers.
Then it creates a Foo, scales it and deletes its Deployment, and prints what happens when the API
shows it. ``--once`` exits after that; it fails with a message if something did not happen.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event
from clientgo.client import Client
from clientgo.meta import deep_copy
from clientgo.meta.owner_references import is_controlled_by
from clientgo.rest import RestConfig, load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import simulate
from clientgo.testing.definitions import is_established
from clientgo.testing.observer import Observer, ObserverClosedError
from clientgo.util.text.yaml_reader import read_yaml
from clientgo.util.wait import call_when_set, retry_on_conflict, setup_signal_handler
from sample_controller.__main__ import RESYNC, run
from sample_controller.types import Foo

NAMESPACE = "default"
FOO = "example-foo"
TIMEOUT = 50.0
"""Seconds from the start in which everything has to happen."""


class MissingError(Exception):
    """Something that should have happened was not observed in time."""


class Transcript:
    """Prints each step with its time, when the API shows it."""

    def __init__(self, observer: Observer) -> None:
        self.foos = observer.lister(Foo).namespace(NAMESPACE)
        self.deployments = observer.lister(Deployment).namespace(NAMESPACE)
        self.events = observer.lister(Event).namespace(NAMESPACE)
        self._observer = observer
        self._started = time.monotonic()

    def print(self, line: str) -> None:
        print(f"{time.monotonic() - self._started:6.2f}s  {line}", flush=True)

    def expect(self, line: str, seen: Callable[[], bool]) -> None:
        """Wait for ``seen`` and print a line; raise :class:`MissingError` after the timeout."""
        remaining = self._started + TIMEOUT - time.monotonic()
        if not self._observer.wait_until(seen, remaining):
            raise MissingError(line)
        self.print(f"  {line}")


def run_demo(client: Client, transcript: Transcript) -> None:
    """Create, scale and delete; each time the controller has to react."""
    foos = client.resource(Foo).namespace(NAMESPACE)

    def foo() -> Foo:
        return transcript.foos.get(FOO)

    def deployment() -> Deployment:
        return transcript.deployments.get(FOO)

    def reconciled(replicas: int) -> None:
        transcript.expect(
            f"Deployment {FOO} asks for replicas: {replicas}",
            lambda: deployment().spec.replicas == replicas,
        )
        transcript.expect(
            f"Deployment {FOO} has them available: {replicas}",
            lambda: deployment().status.available_replicas == replicas,
        )
        transcript.expect(
            f"Foo {FOO} says so in its status: availableReplicas {replicas}",
            lambda: foo().status.available_replicas == replicas,
        )

    transcript.print(f"you create the Foo {FOO}, which asks for one replica")
    foos.create(artifact("example-foo.yaml"))
    transcript.expect(f"Foo {FOO} is seen", lambda: bool(foo()))
    transcript.expect(
        f"Deployment {FOO} is created, and owned by the Foo",
        lambda: is_controlled_by(deployment(), foo()),
    )
    reconciled(1)
    transcript.expect(
        "an event is recorded: Normal Synced, Foo synced successfully",
        lambda: any(event.reason == "Synced" for event in transcript.events.list()),
    )

    transcript.print(f"you scale the Foo {FOO} to three")
    scale(client, 3)
    reconciled(3)

    transcript.print(f"you delete the Deployment {FOO}")
    lost = deployment().metadata.uid
    client.resource(Deployment).namespace(NAMESPACE).delete(FOO)
    transcript.expect(
        f"Deployment {FOO} is created again",
        lambda: deployment().metadata.uid != lost,
    )
    reconciled(3)


def scale(client: Client, replicas: int) -> None:
    """Change the replicas of the Foo: read, change a copy, write; again after a conflict."""
    foos = client.resource(Foo).namespace(NAMESPACE)

    def attempt() -> None:
        foo = deep_copy(foos.get(FOO))
        foo.spec.replicas = replicas
        foos.update(foo)

    retry_on_conflict(attempt)


def artifact(name: str) -> Any:
    """Return one of the manifests of the sample."""
    return read_yaml(files("sample_controller").joinpath("artifacts", name).read_bytes())[0]


def install_crd(client: Client) -> None:
    """Install the Foo resource and wait until the server serves it."""
    manifest = artifact("crd-status-subresource.yaml")
    client.resource(CustomResourceDefinition).create(manifest)
    with Observer(client, CustomResourceDefinition) as observer:
        crds = observer.lister(CustomResourceDefinition)
        if not observer.wait_until(lambda: is_established(crds.get(manifest["metadata"]["name"]))):
            raise MissingError("the Foo resource is established")


@contextlib.contextmanager
def running(name: str, run: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run a component in a thread until the end of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run_controller(client: Client, stop: threading.Event, workers: int = 2) -> None:
    """Run the program with an existing client."""
    run(client, stop, workers)


@contextlib.contextmanager
def controller(config: RestConfig, resync: float = RESYNC) -> Iterator[None]:
    """Run the program until the end of the block: a ``--target`` of ``clientgo study``."""
    with (
        Client(config) as client,
        running("controller", lambda stop: run(client, stop, resync=resync)),
    ):
        yield


def main(argv: list[str] | None = None) -> int:
    """Return 0, or 1 if something did not happen."""
    parser = argparse.ArgumentParser(prog="sample_controller.demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="exit when everything has happened")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the controller's log")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.WARNING,
        format="         %(levelname)s %(name)s: %(message)s",
    )
    if args.verbose:
        # The loop only: the API server in this process has a log of its own.
        for shown in ("sample_controller", "clientgo.cache"):
            logging.getLogger(shown).setLevel(logging.DEBUG)
    stop = setup_signal_handler()
    with EmbeddedAPIServer(secure=True) as server, contextlib.ExitStack() as stack:
        client = stack.enter_context(Client(load_config(server.kubeconfig)))
        print(f"The API server of this demonstration listens on {server.url}.")
        install_crd(client)
        stack.enter_context(simulate(server))
        stack.enter_context(running("controller", lambda end: run_controller(client, end)))
        observer = stack.enter_context(Observer(client, Foo, Deployment, Event))
        hook = call_when_set(stop, observer.close)
        stack.callback(hook.cancel)
        try:
            run_demo(client, Transcript(observer))
        except MissingError as error:
            print(f"\nnot observed within {TIMEOUT:.0f} s: {error}", file=sys.stderr)
            return 1
        except ObserverClosedError:
            pass  # Ctrl-C before the end
        else:
            if not args.once:
                invite(server.kubeconfig)
                stop.wait()
        print("\nStopping: the controller finishes the keys that it is processing.")
    return 0


def invite(kubeconfig: Path) -> None:
    """Print how to use kubectl with it."""
    print(
        f"""
Use kubectl in another terminal:

    export KUBECONFIG={kubeconfig}
    kubectl get foos,deployments,pods,events
    kubectl scale deployment {FOO} --replicas 1     # the controller restores it
    kubectl patch foo {FOO} --type merge -p '{{"spec":{{"replicas":5}}}}'
    kubectl get foos -w

Press Ctrl-C to stop.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
