"""An API server that has our endpoint convert the versions of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.client import Client
from clientgo.meta import ObjectMeta, StatusError
from clientgo.operator.webhooks import WebhookOptions, Webhooks, WebhookServer
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.scaffold import add_conversions, by_url
from clientgo.tools.scaffold.installing import install_definitions
from tests.operator.webhooks.caller import TLS, put_certificate
from tests.operator.webhooks.versions import (
    FromAlpha,
    FromBeta,
    HubSpec,
    Item,
    JobV1,
    JobV1Alpha1,
    JobV1Beta1,
    OldSpec,
    PlainSpec,
)


class Fragile(FromAlpha):
    """Cannot convert one of the schedules."""

    def to_hub(self, spoke: JobV1Alpha1) -> JobV1:
        if spoke.spec.schedule == "never":
            raise LookupError("no such hour")
        return super().to_hub(spoke)


def definition() -> dict[str, object]:
    """The definition of Jobs; the schema of v1beta1 has less than the others."""
    text = {"type": "string"}
    extra = {"type": "array", "items": {"type": "object", "properties": {"name": text}}}
    specs = {
        "v1": {"minute": text, "hour": text, "extra": extra, "newer": text},
        "v1alpha1": {"schedule": text, "extra": extra, "newer": text},
        "v1beta1": {"minute": text},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs.demo.example.com"},
        "spec": {
            "group": "demo.example.com",
            "scope": "Namespaced",
            "names": {"plural": "jobs", "kind": "Job"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": properties}},
                        }
                    },
                }
                for name, properties in specs.items()
            ],
        },
    }


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    webhooks = Webhooks()
    webhooks.register(Fragile(), FromBeta())
    options = WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(put_certificate(tmp_path)))
    server = WebhookServer(options, webhooks)
    with EmbeddedAPIServer() as api, Client(api.url) as client:
        server.start()
        crd = definition()
        reach = by_url(server.url, (TLS / "ca.crt").read_bytes())
        add_conversions([crd], ["jobs.demo.example.com"], reach)
        install_definitions(client, [crd])
        yield client
        assert server.stop(60) == []


def test_three_versions_of_an_object_are_one_object(client: Client) -> None:
    """OP-CNV-01"""
    old = client.resource(JobV1Alpha1).namespace("default")
    hub = client.resource(JobV1).namespace("default")
    plain = client.resource(JobV1Beta1).namespace("default")
    spec = OldSpec(schedule="5 12", extra=[Item(name="x")])
    old.create(JobV1Alpha1(metadata=ObjectMeta(name="a"), spec=spec))

    assert hub.get("a").spec == HubSpec(minute="5", hour="12", extra=[Item(name="x")])
    assert plain.get("a").spec == PlainSpec(minute="5")
    hub.patch("a", {"spec": {"hour": "13"}})
    assert old.get("a").spec.schedule == "5 13"
    assert [job.spec.schedule for job in old.list().items] == ["5 13"]


def test_fields_of_the_hub_survive_a_write_in_a_version_that_lacks_them(client: Client) -> None:
    """OP-CNV-06"""
    hub = client.resource(JobV1).namespace("default")
    plain = client.resource(JobV1Beta1).namespace("default")
    hub.create({"metadata": {"name": "a"}, "spec": {"minute": "1", "hour": "0", "newer": "y"}})

    changed = plain.get("a")
    changed.spec.minute = "2"
    plain.update(changed)

    kept = {"minute": "2", "hour": "0", "extra": [], "newer": "y"}
    assert hub.get("a").to_dict()["spec"] == kept


def test_an_object_that_cannot_be_converted_is_an_error_of_the_request(client: Client) -> None:
    """OP-CNV-03"""
    old = client.resource(JobV1Alpha1).namespace("default")
    with pytest.raises(StatusError) as refused:
        old.create(JobV1Alpha1(metadata=ObjectMeta(name="a"), spec=OldSpec(schedule="never")))

    assert refused.value.message == (
        "conversion webhook for demo.example.com/v1alpha1, Kind=Job failed: "
        "Job default/a: a converter failed: LookupError: no such hour"
    )
    assert client.resource(JobV1).namespace("default").list().items == []
