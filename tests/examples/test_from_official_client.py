"""A program of the official client that moves over in steps."""

from __future__ import annotations

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from tests.examples.running import Running, kubeconfig_of


def test_it_greets_with_models_of_the_official_client_and_ends_with_the_first_signal() -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        for name, labels in (("world", {"greet": "yes"}), ("other", {})):
            config_maps.create(
                ConfigMap(metadata=ObjectMeta(name=name, labels=labels), data={"kept": "yes"})
            )
        with Running("from_official_client.py", env=kubeconfig_of(server)) as running:
            with Observer(client, ConfigMap) as observer:
                seen = observer.lister(ConfigMap).namespace("default")
                assert observer.wait_until(lambda: "hello" in (seen.get("world").data or {}))
                assert seen.get("other").data == {"kept": "yes"}
            output = running.stop()
        data = config_maps.get("world").data

    assert output == ["greeted default/world"]
    assert data == {"kept": "yes", "hello": "from the official client's models"}
