"""An informer for whatever name it is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from clientgo.api.core_v1 import ConfigMap
from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from tests.examples.running import ROOT


def test_it_shows_what_happens_to_objects_of_a_kind_that_it_does_not_know() -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        config_maps.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"b": "c"}))
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "examples" / "dynamic_informer.py"), "cm"],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            before = [process.stdout.readline() for _ in range(2)]
            config_maps.patch("a", {"data": {"d": "e"}})
            changed = process.stdout.readline()
            config_maps.delete("a")
            deleted = process.stdout.readline()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)

    assert before[0].startswith("added default/a at ")
    assert before[1] == "1 configmaps of v1\n"
    assert changed.startswith("changed default/a at ")
    assert changed.endswith("which says data\n")
    assert deleted == "deleted default/a\n"
    assert process.returncode == 0
