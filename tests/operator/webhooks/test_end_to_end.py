"""An API server that asks our webhooks before it stores an object."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clientgo.client import Client, ResourceClient
from clientgo.meta import ForbiddenError, InvalidError, ObjectMeta, StatusError
from clientgo.operator.certificates.self_signed import Trusting, trust
from clientgo.operator.webhooks import (
    AdmissionContext,
    Denied,
    FieldErrors,
    Operation,
    WebhookOptions,
    Webhooks,
    WebhookServer,
    default,
    path,
    validate,
)
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.operator.webhooks.caller import TLS, put_certificate
from tests.operator.webhooks.cluster import CONFIGURATION, register, serve_foos
from tests.operator.webhooks.reviews import Foo, FooSpec, foo


class Hooks:
    """Completes and judges Foos."""

    def __init__(self) -> None:
        self.dry_runs: list[bool] = []

    @default(Foo)
    def fill_in(self, obj: Foo, ctx: AdmissionContext) -> None:
        self.dry_runs.append(ctx.dry_run)
        if obj.spec.replicas is None:
            obj.spec.replicas = 3

    @validate(Foo, on=[Operation.CREATE, Operation.UPDATE, Operation.DELETE])
    def check(self, obj: Foo, old: Foo | None, ctx: AdmissionContext) -> list[str]:
        if ctx.operation is Operation.DELETE and obj.spec.image == "precious":
            raise Denied("precious objects stay")
        if (obj.spec.replicas or 0) < 0:
            raise ZeroDivisionError
        errors = FieldErrors()
        if old is not None and old.spec.image != obj.spec.image:
            errors.forbidden(path("spec", "image"), "it cannot be changed")
        if (obj.spec.replicas or 0) > 10:
            errors.invalid(path("spec", "replicas"), obj.spec.replicas, "at most 10")
        errors.raise_if_any()
        return []


@dataclass
class Scene:
    client: Client
    foos: ResourceClient[Foo]
    hooks: Hooks
    webhook_server: WebhookServer


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    hooks = Hooks()
    webhooks = Webhooks()
    webhooks.register(hooks)
    server = WebhookServer(
        WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(put_certificate(tmp_path))),
        webhooks,
    )
    with EmbeddedAPIServer() as api, Client(api.url) as client:
        serve_foos(client)
        server.start()
        register(client, webhooks.manifests, server.url)
        names = [CONFIGURATION]
        trust(client, Trusting(mutating=names, validating=names), (TLS / "ca.crt").read_bytes())
        yield Scene(client, client.resource(Foo).namespace("default"), hooks, server)
        assert server.stop(60) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("webhook")]


def a_foo(name: str = "a", **spec: Any) -> Foo:
    return Foo(metadata=ObjectMeta(name=name), spec=FooSpec(**spec))


def test_an_object_is_completed_before_it_is_stored(scene: Scene) -> None:
    """OP-WHK-01, OP-WHK-02, OP-WHK-03"""
    created = scene.foos.create(a_foo(image="nginx"))

    assert created.spec.replicas == 3
    assert scene.foos.get("a").spec.replicas == 3


def test_fields_that_the_webhook_does_not_know_are_stored(scene: Scene) -> None:
    """OP-WHK-04"""
    scene.foos.create(foo(newer={"a": [1]}))

    assert scene.foos.get("a").to_dict()["spec"] == {"newer": {"a": [1]}, "replicas": 3}


def test_an_invalid_object_is_refused_with_causes(scene: Scene) -> None:
    """OP-WHK-05, OP-WHK-07"""
    stored = scene.foos.create(a_foo(image="nginx"))
    stored.spec = FooSpec(image="other", replicas=11)

    with pytest.raises(InvalidError) as caught:
        scene.foos.update(stored)

    assert caught.value.code == 422
    assert [cause.field_ for cause in caught.value.status.details.causes] == [
        "spec.image",
        "spec.replicas",
    ]
    assert 'denied the request: Foo.demo.example.com "a" is invalid' in caught.value.message


def test_a_deletion_can_be_refused(scene: Scene) -> None:
    """OP-WHK-05, OP-WHK-07"""
    scene.foos.create(a_foo("kept", image="precious"))
    scene.foos.create(a_foo("plain"))

    with pytest.raises(ForbiddenError, match="precious objects stay"):
        scene.foos.delete("kept")
    scene.foos.delete("plain")


def test_a_handler_that_fails_refuses_the_write_and_lives_on(scene: Scene) -> None:
    """OP-WHK-07, OP-WHK-08"""
    with pytest.raises(StatusError) as caught:
        scene.foos.create(a_foo(replicas=-1))

    assert caught.value.code == 500
    assert scene.foos.create(a_foo()).spec.replicas == 3


def test_a_dry_run_is_known_as_one(scene: Scene) -> None:
    """OP-WHK-11, OP-WHK-14"""
    scene.foos.create(a_foo(), dry_run=True)
    scene.foos.create(a_foo())

    assert scene.hooks.dry_runs == [True, False]


def test_without_the_server_writes_fail_closed(scene: Scene) -> None:
    """OP-WHK-18"""
    scene.webhook_server.stop(60)

    with pytest.raises(StatusError, match="failed calling webhook"):
        scene.foos.create(a_foo())
