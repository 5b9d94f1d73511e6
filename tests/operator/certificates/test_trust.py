"""Writing ``caBundle`` where the API server looks for it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.api.admissionregistration_v1 import ValidatingWebhookConfiguration
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.meta import Codec, ConflictError, Resource, encode
from clientgo.operator.certificates.self_signed import Trusting, trust
from clientgo.testing import FakeClient

CLIENT_CONFIG = {"service": {"name": "hooks", "namespace": "system"}}


def decoded(kind: type[Resource], **body: Any) -> Any:
    return Codec(kind).decode(encode({"metadata": {"name": "demo"}, **body}))


def configuration() -> Any:
    hook = {"clientConfig": CLIENT_CONFIG, "sideEffects": "None", "newer": 1}
    return decoded(
        ValidatingWebhookConfiguration,
        webhooks=[{"name": f"{name}.example.com", **hook} for name in ("a", "b")],
    )


def crd(**spec: Any) -> Any:
    names = {"plural": "foos", "kind": "Foo"}
    return decoded(
        CustomResourceDefinition,
        spec={"group": "x", "names": names, "scope": "Cluster", "versions": [], **spec},
    )


def writes(client: FakeClient) -> list[str]:
    return [action.verb for action in client.actions() if action.verb != "get"]


def test_every_webhook_of_a_configuration_trusts_the_bundle() -> None:
    """OP-CRT-02"""
    client = FakeClient(configuration())

    trust(client, Trusting(validating=["demo"]), b"bundle")

    stored = client.resource(ValidatingWebhookConfiguration).get("demo").to_dict()
    assert [hook["clientConfig"] for hook in stored["webhooks"]] == [
        CLIENT_CONFIG | {"caBundle": "YnVuZGxl"}
    ] * 2
    assert [hook["newer"] for hook in stored["webhooks"]] == [1, 1]


def test_a_crd_with_a_conversion_webhook_trusts_the_bundle() -> None:
    """OP-CRT-02"""
    webhook = {"clientConfig": CLIENT_CONFIG, "conversionReviewVersions": ["v1"]}
    client = FakeClient(crd(conversion={"strategy": "Webhook", "webhook": webhook}))

    trust(client, Trusting(crds=["demo"]), b"bundle")

    stored = client.resource(CustomResourceDefinition).get("demo").to_dict()
    config = stored["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config == CLIENT_CONFIG | {"caBundle": "YnVuZGxl"}


@pytest.mark.parametrize("spec", [{}, {"conversion": {"strategy": "None"}}])
def test_a_crd_without_a_conversion_webhook_is_left_alone(spec: dict[str, Any]) -> None:
    """OP-CRT-02"""
    client = FakeClient(crd(**spec))

    trust(client, Trusting(crds=["demo"]), b"bundle")

    assert writes(client) == []


def test_nothing_is_written_that_is_so_already() -> None:
    """OP-CRT-02"""
    client = FakeClient(configuration())
    trust(client, Trusting(validating=["demo"]), b"bundle")
    client.clear_actions()

    trust(client, Trusting(validating=["demo"]), b"bundle")

    assert writes(client) == []


def test_what_is_not_there_yet_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """OP-CRT-02"""
    client = FakeClient(configuration())

    with caplog.at_level(logging.DEBUG, "clientgo.operator.certificates"):
        trust(client, Trusting(mutating=["absent"], validating=["demo"]), b"bundle")

    assert writes(client) == ["update"]
    assert "MutatingWebhookConfiguration absent is not there yet" in caplog.text


def test_a_conflict_is_tried_again() -> None:
    """OP-CRT-02"""
    client = FakeClient(configuration())
    conflicts = [ConflictError.of("changed"), ConflictError.of("changed")]

    def refuse(action: Any) -> Any:
        if conflicts:
            raise conflicts.pop()
        return None

    client.prepend_reactor("update", "*", refuse)

    trust(client, Trusting(validating=["demo"]), b"bundle")

    assert writes(client) == ["update"] * 3
