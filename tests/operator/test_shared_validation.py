"""One ``validate`` for the reconciler and for the API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientgo.api.admissionregistration_v1 import ValidatingWebhookConfiguration
from clientgo.meta import InvalidError, resource_of
from clientgo.operator import Context, Manager
from clientgo.operator.certificates.self_signed import Trusting, trust
from clientgo.operator.webhooks import (
    FieldErrors,
    Operation,
    WebhookOptions,
    path,
    validating,
)
from clientgo.testing.operator import FakeCluster, run_once, running
from tests.operator.webhooks.caller import TLS, put_certificate
from tests.operator.webhooks.cluster import webhook_of
from tests.operator.world import Gadget, gadget


class Judging:
    """Takes no gadgets without a size."""

    def __init__(self) -> None:
        self.operations: list[Operation | None] = []

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...

    def validate(self, obj: Gadget, old: Gadget | None, operation: Operation | None) -> FieldErrors:
        self.operations.append(operation)
        errors = FieldErrors()
        if obj.spec.size < 1:
            errors.invalid(path("spec", "size"), obj.spec.size, "at least 1")
        return errors


def sized(size: int) -> Gadget:
    obj = gadget()
    obj.spec.size = size
    return obj


def test_a_reconcile_is_no_operation() -> None:
    """OP-WHK-17, OP-REC-07: it judges what is stored already."""
    judging = Judging()
    assert run_once(judging, sized(1)).error is None
    assert "at least 1" in str(run_once(judging, sized(0)).error)
    assert judging.operations == [None, None]


def test_the_same_method_answers_the_api_server(tmp_path: Path) -> None:
    """OP-WHK-17: ``manager.webhook(validating(reconciler, Kind))`` is all that it takes."""
    judging = Judging()
    options = WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(put_certificate(tmp_path)))
    with FakeCluster(crds=[Gadget]) as cluster:
        manager = Manager(cluster.operator_client(), metrics="0", webhook=options)
        manager.webhook(validating(judging, Gadget))
        with running(manager, cluster):
            hook = webhook_of(manager.webhooks.manifests[0], manager.bound.webhooks)
            cluster.client().resource(resource_of(ValidatingWebhookConfiguration)).create(
                {"metadata": {"name": "judging"}, "webhooks": [hook]}
            )
            authority = (TLS / "ca.crt").read_bytes()
            trust(cluster.client(), Trusting(validating=["judging"]), authority)
            cluster.create(sized(1))
            with pytest.raises(InvalidError, match="at least 1"):
                cluster.patch(gadget(), {"spec": {"size": 0}})
    assert judging.operations == [Operation.CREATE, Operation.UPDATE]
