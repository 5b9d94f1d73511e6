"""The whole road on one machine: ``make run``.

Starts the embedded API server, installs the Foo resource, runs the controller with two workers
and tells what can be seen through the API while a Foo is created, scaled and robbed of its
Deployment. ``--once`` ends when all of that has been observed, or fails saying what is missing.
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

import yaml

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Event
from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
from clientgo.meta import deep_copy
from clientgo.meta.owner_references import is_controlled_by
from clientgo.rest import load_config
from clientgo.testing.observer import Observer, ObserverClosedError
from clientgo.testing.workloads import WorkloadSimulator
from clientgo.wait import call_when_set, retry_on_conflict, setup_signal_handler
from sample_controller.__main__ import run
from sample_controller.options import Options
from sample_controller.types import Foo

NAMESPACE = "default"
FOO = "example-foo"
PATIENCE = 50.0
"""Seconds from the start until what has not been observed counts as missing."""


class MissingError(Exception):
    """Something that should have happened was not observed in time."""


class Story:
    """Tells each thing when it can first be seen through the API."""

    def __init__(self, observer: Observer) -> None:
        self.foos = observer.lister(Foo).namespace(NAMESPACE)
        self.deployments = observer.lister(Deployment).namespace(NAMESPACE)
        self.events = observer.lister(Event).namespace(NAMESPACE)
        self._observer = observer
        self._started = time.monotonic()

    def tell(self, line: str) -> None:
        print(f"{time.monotonic() - self._started:6.2f}s  {line}", flush=True)

    def expect(self, line: str, seen: Callable[[], bool]) -> None:
        """Wait until ``seen`` and tell it; raises :class:`MissingError` when patience ends."""
        patience = self._started + PATIENCE - time.monotonic()
        if not self._observer.wait_until(seen, patience):
            raise MissingError(line)
        self.tell(f"  {line}")


def tell_story(client: Client, story: Story) -> None:
    """Create, scale, and break; each time the controller has to mend the world."""
    foos = client.resource(Foo).namespace(NAMESPACE)

    def foo() -> Foo:
        return story.foos.get(FOO)

    def deployment() -> Deployment:
        return story.deployments.get(FOO)

    def reconciled(replicas: int) -> None:
        story.expect(
            f"Deployment {FOO} asks for replicas: {replicas}",
            lambda: deployment().spec.replicas == replicas,
        )
        story.expect(
            f"Deployment {FOO} has them available: {replicas}",
            lambda: deployment().status.available_replicas == replicas,
        )
        story.expect(
            f"Foo {FOO} says so in its status: availableReplicas {replicas}",
            lambda: foo().status.available_replicas == replicas,
        )

    story.tell(f"you create the Foo {FOO}, which asks for one replica")
    foos.create(artifact("example-foo.yaml"))
    story.expect(f"Foo {FOO} is seen", lambda: bool(foo()))
    story.expect(
        f"Deployment {FOO} is created, and owned by the Foo",
        lambda: is_controlled_by(deployment(), foo()),
    )
    reconciled(1)
    story.expect(
        "an event is recorded: Normal Synced, Foo synced successfully",
        lambda: any(event.reason == "Synced" for event in story.events.list()),
    )

    story.tell(f"you scale the Foo {FOO} to three")
    scale(client, 3)
    reconciled(3)

    story.tell(f"you delete the Deployment {FOO} behind the controller's back")
    lost = deployment().metadata.uid
    client.resource(Deployment).namespace(NAMESPACE).delete(FOO)
    story.expect(
        f"Deployment {FOO} is there again, a new one",
        lambda: deployment().metadata.uid != lost,
    )
    reconciled(3)


def scale(client: Client, replicas: int) -> None:
    """Change the replicas of the Foo as any client must: read, change a copy, write, or again."""
    foos = client.resource(Foo).namespace(NAMESPACE)

    def attempt() -> None:
        foo = deep_copy(foos.get(FOO))
        foo.spec.replicas = replicas
        foos.update(foo)

    retry_on_conflict(attempt)


def artifact(name: str) -> Any:
    """One of the manifests that ship with the sample."""
    return yaml.safe_load(files("sample_controller").joinpath("artifacts", name).read_text())


def install_crd(client: Client) -> None:
    """Install the Foo resource and wait until the server serves it."""
    manifest = artifact("crd-status-subresource.yaml")
    client.resource(CustomResourceDefinition).create(manifest)
    with Observer(client, CustomResourceDefinition) as observer:
        crds = observer.lister(CustomResourceDefinition)
        if not observer.wait_until(lambda: _established(crds.get(manifest["metadata"]["name"]))):
            raise MissingError("the Foo resource is established")


def _established(crd: CustomResourceDefinition) -> bool:
    conditions = (crd.status.conditions or ()) if crd.status else ()
    return any(c.type == "Established" and c.status == "True" for c in conditions)


@contextlib.contextmanager
def running(name: str, run: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run a component beside us; leaving the block stops it and waits until it has ended."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run_controller(client: Client, stop: threading.Event, workers: int = 2) -> None:
    """What the program does, on a client that is there already."""
    run(client, Options(workers=workers), stop)


def main(argv: list[str] | None = None) -> int:
    """Returns 0, or 1 when something that should have happened was not observed."""
    parser = argparse.ArgumentParser(prog="sample_controller.demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end when the story has been observed")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the controller's log")
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.WARNING,
        format="         %(levelname)s %(name)s: %(message)s",
    )
    if args.verbose:
        # The loop and no more: the API server in this process has a log of its own.
        for shown in ("sample_controller", "clientgo.cache"):
            logging.getLogger(shown).setLevel(logging.DEBUG)
    stop = setup_signal_handler()
    with EmbeddedAPIServer() as server, contextlib.ExitStack() as stack:
        client = stack.enter_context(Client(load_config(str(server.kubeconfig))))
        print(f"An API server listens on {server.url}, in this process, for this demonstration.")
        install_crd(client)
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        stack.enter_context(running("controller", lambda end: run_controller(client, end)))
        observer = stack.enter_context(Observer(client, Foo, Deployment, Event))
        hook = call_when_set(stop, observer.close)
        stack.callback(hook.cancel)
        try:
            tell_story(client, Story(observer))
        except MissingError as error:
            print(f"\nnot observed within {PATIENCE:.0f} s: {error}", file=sys.stderr)
            return 1
        except ObserverClosedError:
            pass  # somebody pressed Ctrl-C in the middle of the story
        else:
            if not args.once:
                invite(server.kubeconfig)
                stop.wait()
        print("\nStopping: the controller finishes what is in hand.")
    return 0


def invite(kubeconfig: Path) -> None:
    """Tell how to join in."""
    print(
        f"""
Join in from another terminal:

    export KUBECONFIG={kubeconfig}
    kubectl get foos,deployments,events
    kubectl scale deployment {FOO} --replicas 1     # and watch it being repaired
    kubectl patch foo {FOO} --type merge -p '{{"spec":{{"replicas":5}}}}'
    kubectl get foos -w

Ctrl-C ends this.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
