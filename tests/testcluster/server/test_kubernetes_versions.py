"""The server as another version of Kubernetes."""

from __future__ import annotations

import pytest

from clientgo.__main__ import main
from clientgo.api.core_v1 import ConfigMap, Container, Pod, PodSpec
from clientgo.cache import REAL_FIFO, ConsistencyStore
from clientgo.client import Client, DiscoveryClient
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ListOptions, ObjectMeta, ObjectName
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.util.wait import StopEvent


@pytest.mark.parametrize(("version", "says"), [("1.36", False), ("1.37", True)])
def test_the_answer_to_a_deletion_has_its_version_since_1_37(version: str, says: bool) -> None:
    """OP-CLI-06a: that of the deletion, which a watch has, and not that of the object."""
    with EmbeddedAPIServer(kubernetes_version=version) as server, Client(server.url) as client:
        assert DiscoveryClient(client.config).server_version().minor == version[2:]
        maps = client.resource(ConfigMap).namespace("default")
        created = maps.create(ConfigMap(metadata=ObjectMeta(name="a")))
        before = created.metadata.resource_version

        assert maps.delete("a", dry_run=True) == ""
        deleted = maps.delete("a")

        stream = maps.watch(ListOptions(resource_version=before))
        (event,) = stream.read()
        stream.stop()
        assert event.type == "DELETED"
        assert deleted == (event.object.metadata.resource_version if says else "")
        assert int(event.object.metadata.resource_version) > int(before)


def test_an_object_that_is_only_marked_says_the_version_of_that_in_any_version() -> None:
    """OP-CLI-06a: as one with a finalizer, or a pod with a grace period."""
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        maps = client.resource(ConfigMap).namespace("default")
        maps.create(ConfigMap(metadata=ObjectMeta(name="a", finalizers=("example.com/wait",))))
        pods = client.resource(Pod).namespace("default")
        spec = PodSpec(containers=[Container(name="c", image="i")], node_name="n")
        pods.create(Pod(metadata=ObjectMeta(name="a"), spec=spec))

        assert maps.delete("a") == maps.get("a").metadata.resource_version
        assert pods.delete("a") == pods.get("a").metadata.resource_version


def test_a_sync_waits_for_its_own_deletion() -> None:
    """OP-CLI-06a, CST-02: for the informers of the low level."""
    key, stop = ObjectName("default", "owner"), StopEvent()
    with (
        EmbeddedAPIServer(kubernetes_version="1.37") as server,
        Client(server.url) as client,
        SharedInformerFactory(client, queue=REAL_FIFO) as factory,
    ):
        maps = client.resource(ConfigMap).namespace("default")
        maps.create(ConfigMap(metadata=ObjectMeta(name="a")))
        informer = factory.informer_for(ConfigMap)
        factory.start(stop)
        assert all(factory.wait_for_cache_sync(stop).values())
        written = ConsistencyStore({ConfigMap: informer.indexer})

        version = maps.delete("a")
        written.wrote_at(key, "u", ConfigMap, version)

        assert informer.indexer.wait_until_version(version, timeout=30)
        assert factory.lister_for(ConfigMap).namespace("default").find("a") is None
        written.ensure_ready(key)
        assert written.pending() == 0


def test_a_version_that_it_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"this is no Kubernetes 1\.12, but one of 1\.36, 1\.37"):
        EmbeddedAPIServer(kubernetes_version="1.12")

    with pytest.raises(SystemExit):
        main(["apiserver", "--kubernetes-version", "1.12"])
    assert "invalid choice: '1.12'" in capsys.readouterr().err
