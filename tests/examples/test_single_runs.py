"""Examples that do one thing and end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.client import Client
from clientgo.meta import ObjectMeta, OwnerReference
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.examples.running import ROOT, printed_by


@pytest.fixture
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


def test_two_programs_share_a_deployment(server: EmbeddedAPIServer) -> None:
    assert printed_by("server_side_apply.py", server.url) == [
        "3 replicas, owned by designer, scaler",
        "another image, and still 3 replicas",
        'Apply failed with 1 conflict: conflict with "scaler": .spec.replicas',
        "1 replica, taken from its owner",
    ]


def test_events_are_written_and_repetitions_counted(server: EmbeddedAPIServer) -> None:
    assert printed_by("events.py", server.url) == [
        "Normal Created x1: it is there",
        "Warning TooSmall x3: only 12 bytes",
        "0 dropped",
        "Looking by example.com/events: 2 times so far",
    ]


def test_everything_in_a_cluster_is_counted(server: EmbeddedAPIServer) -> None:
    with Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        owner = config_maps.create(ConfigMap(metadata=ObjectMeta(name="owner")))
        reference = OwnerReference(
            api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid
        )
        owned = ObjectMeta(name="owned", owner_references=(reference,))
        config_maps.create(ConfigMap(metadata=owned))

        lines = printed_by("metadata_informer.py", server.url)

        assert "configmaps of v1: 2, 1 owned" in lines
        assert not any(line.startswith("pods") for line in lines), client.resource(Pod).list()


def test_the_unit_tests_with_fakes_pass() -> None:
    file = ROOT / "examples" / "test_with_fakes.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]

    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert "4 passed" in done.stdout, done.stdout
