"""An informer for whatever name it is given."""

from __future__ import annotations

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.examples.running import Running, kubeconfig_of


def test_it_shows_what_happens_to_objects_of_a_kind_that_it_does_not_know() -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        config_maps.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"b": "c"}))
        with Running("dynamic_informer.py", "cm", env=kubeconfig_of(server)) as running:
            before = [running.readline() for _ in range(2)]
            config_maps.patch("a", {"data": {"d": "e"}})
            changed = running.readline()
            config_maps.delete("a")
            deleted = running.readline()
            running.stop()

    assert before[0].startswith("added default/a at ")
    assert before[1] == "1 configmaps of v1"
    assert changed.startswith("changed default/a at ")
    assert changed.endswith("which says data")
    assert deleted == "deleted default/a"
