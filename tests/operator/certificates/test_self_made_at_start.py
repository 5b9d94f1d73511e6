"""Managers that make the certificates of their webhooks themselves, from the very first start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clientgo.api.admissionregistration_v1 import MutatingWebhookConfiguration
from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import Secret
from clientgo.client import Client, PatchKind
from clientgo.meta import ObjectMeta, resource_of
from clientgo.operator import LeaderElection, Manager
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import AdmissionContext, WebhookOptions, default
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.operator import eventually
from tests.operator.webhooks.caller import connect, trusting
from tests.operator.webhooks.cluster import serve_foos, webhook_of
from tests.operator.webhooks.reviews import Foo
from tests.operator.webhooks.versions import FromAlpha

CONFIGURATION = "jobs-mutating-webhook-configuration"


@default(Foo)
def fill_in(obj: Foo, ctx: AdmissionContext) -> None:
    obj.spec.replicas = 3


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAPIServer]:
    monkeypatch.setenv("POD_NAMESPACE", "default")
    with EmbeddedAPIServer() as server:
        yield server


def replica(api: EmbeddedAPIServer, directory: Path, *webhooks: object) -> Manager:
    """One process of the operator, which stands for election."""
    options = WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(directory), certs="self")
    election = LeaderElection(id="jobs", namespace="default")
    manager = Manager(api.url, name="jobs", metrics="0", leader_election=election, webhook=options)
    manager.webhook(*webhooks)
    return manager


def hold_lease(client: Client) -> None:
    """Somebody else leads, for as long as the test takes."""
    spec = {
        "holderIdentity": "other",
        "leaseDurationSeconds": 3600,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    metadata = {"name": "jobs", "namespace": "default"}
    client.resource(resource_of(Lease)).create({"metadata": metadata, "spec": spec})


def bundle(client: Client) -> bytes:
    """Whom the API server trusts."""
    configuration = client.resource(MutatingWebhookConfiguration).get(CONFIGURATION)
    assert configuration.webhooks is not None
    return configuration.webhooks[0].client_config.ca_bundle or b""


def authority(client: Client) -> bytes:
    secret = client.resource(Secret).namespace("default").get("jobs-webhook-cert")
    return (secret.data or {})["ca.crt"]


def trusted(manager: Manager, client: Client) -> bool:
    return handshake(manager, authority(client))


def handshake(manager: Manager, trusted: bytes) -> bool:
    address = urlsplit(manager.bound.webhooks)
    assert address.hostname is not None
    assert address.port is not None
    connect((address.hostname, address.port), trusting(trusted)).close()
    return True


def test_an_operator_serves_webhooks_with_certificates_that_it_made(
    api: EmbeddedAPIServer, tmp_path: Path
) -> None:
    """OP-CRT-02: told ``certs="self"``, a manager does the rest."""
    manager = replica(api, tmp_path, fill_in)
    with Client(api.url) as client:
        serve_foos(client)
        configurations = client.resource(resource_of(MutatingWebhookConfiguration))
        hook = webhook_of(manager.webhooks.manifests[0], "https://not.known.yet")
        configurations.create({"metadata": {"name": CONFIGURATION}, "webhooks": [hook]})
        with manager:
            eventually(lambda: bundle(client) == authority(client))
            url = manager.bound.webhooks + manager.webhooks.manifests[0].path
            to_url = {"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": url}
            configurations.patch(CONFIGURATION, [to_url], PatchKind.JSON)
            foos = client.resource(Foo).namespace("default")
            assert foos.create(Foo(metadata=ObjectMeta(name="a"))).spec.replicas == 3


def test_the_first_certificates_of_a_conversion_wait_for_no_leader(
    api: EmbeddedAPIServer, tmp_path: Path
) -> None:
    """OP-CRT-02, OP-CNV-07, OP-MGR-04: caches wait for conversions and a leader for the caches, so
    the certificates must not wait for a leader; two replicas use the same."""
    with Client(api.url) as client:
        hold_lease(client)
        first, second = (replica(api, tmp_path / name, FromAlpha) for name in "12")
        with first, second:
            for manager in (first, second):
                eventually(partial(trusted, manager, client))
                assert not manager.elected.is_set()


def test_without_a_conversion_the_leader_makes_them(
    api: EmbeddedAPIServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CRT-02"""
    with Client(api.url) as client:
        hold_lease(client)
        with caplog.at_level("INFO"), replica(api, tmp_path, fill_in):
            eventually(lambda: "Waiting for Secret default/jobs-webhook-cert" in caplog.text)
        assert client.resource(Secret).namespace("default").list().items == []


def test_a_process_that_does_not_know_its_namespace_says_so_at_the_start(
    api: EmbeddedAPIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CRT-02"""
    monkeypatch.delenv("POD_NAMESPACE")
    with pytest.raises(ConfigError, match="POD_NAMESPACE"):
        replica(api, tmp_path, fill_in).start()
