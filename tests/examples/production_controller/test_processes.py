"""Two processes of the production example on one machine share the Foos."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment
from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectMeta
from clientgo.sharding.shard_leases import HOLDERS
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from sample_controller.types import Foo, FooSpec
from tests.examples.running import kubeconfig_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="passes signals on as POSIX does")


def _members_that_hold_shards(leases: list[Lease]) -> int:
    """Return how many processes hold shards; 0 while a shard has no holder."""
    written = [(lease.metadata.annotations or {}).get(HOLDERS) for lease in leases]
    holders = {holder for text in written if text for holder in json.loads(text)}
    return 0 if "" in holders else len(holders)


def test_two_processes_share_the_foos(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    for definition in definitions_of([Foo]):
        kube_client.resource(CustomResourceDefinition).create(definition)
    foos = kube_client.resource(Foo).namespace("default")
    names = [f"foo-{number}" for number in range(8)]
    for name in names:
        spec = FooSpec(deployment_name=name, replicas=1)
        foos.create(Foo(metadata=ObjectMeta(name=name), spec=spec))
    command = [
        sys.executable,
        "-m",
        "examples.production_controller",
        "--processes",
        "2",
        "--shards",
        "4",
    ]
    with Observer(kube_client, Deployment, Lease) as seen:
        program = subprocess.Popen(
            command,
            env={**os.environ, **kubeconfig_of(kube_api_server)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            deployments, leases = seen.lister(Deployment), seen.lister(Lease)
            assert seen.wait_until(
                lambda: {d.metadata.name for d in deployments.list()} >= {*names}
            )
            assert seen.wait_until(lambda: _members_that_hold_shards(leases.list()) == 2)
        finally:
            program.send_signal(signal.SIGTERM)
            output, _ = program.communicate(timeout=60)
    assert program.returncode == 0, output
    assert "WARNING" not in output
    assert "ERROR" not in output
