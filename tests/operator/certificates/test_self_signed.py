"""An operator that makes its own certificates, and an API server that trusts them."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.admissionregistration_v1 import MutatingWebhookConfiguration
from clientgo.api.core_v1 import Secret
from clientgo.client import Client
from clientgo.meta import NotFoundError, ObjectMeta, ObjectName
from clientgo.operator.certificates import KeyPair
from clientgo.operator.certificates.self_signed import (
    SERVING_LIFETIME,
    SelfSignedCertificates,
    Trusting,
    self_signed_certificates,
)
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import (
    AdmissionContext,
    WebhookOptions,
    Webhooks,
    WebhookServer,
    default,
)
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeClient, FakeClock
from clientgo.util.certificates.authority import vouches_for
from clientgo.util.clock import REAL_CLOCK
from tests.background import Background
from tests.operator.webhooks.caller import connect, trusting
from tests.operator.webhooks.cluster import CONFIGURATION, register, serve_foos
from tests.operator.webhooks.reviews import Foo
from tests.operator.webhooks.versions import FromAlpha

SECRET = ObjectName("default", "hooks-tls")
NAMES = ("127.0.0.1", "hooks.default.svc")
ALL = Trusting(mutating=[CONFIGURATION], validating=[CONFIGURATION, "absent"])


@default(Foo)
def fill_in(obj: Foo, ctx: AdmissionContext) -> None:
    obj.spec.replicas = 3


@pytest.fixture
def client() -> Iterator[Client]:
    with EmbeddedAPIServer() as api, Client(api.url) as client:
        yield client


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(wall=1_900_000_000)


class Replica:
    """One process of the operator: a server, and what keeps its certificate."""

    def __init__(
        self,
        client: Client,
        clock: Any,
        directory: Path,
        *,
        leads: bool,
        trusts: Trusting = ALL,
        may_begin: bool = False,
    ) -> None:
        webhooks = Webhooks()
        webhooks.register(fill_in)
        self.server = WebhookServer(
            WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(directory), certs="self"),
            webhooks,
        )
        self.leads = leads
        self.certificates = SelfSignedCertificates(
            client,
            SECRET,
            names=NAMES,
            trusting=trusts,
            is_leader=lambda: self.leads,
            install=self.server.certificate.install,
            may_begin=may_begin,
            clock=clock,
        )


@pytest.fixture
def replica(client: Client, clock: FakeClock, tmp_path: Path) -> Callable[..., Replica]:
    def make(name: str, **options: Any) -> Replica:
        return Replica(client, clock, tmp_path / name, **options)

    return make


def stored(client: Client) -> dict[str, bytes]:
    return client.resource(Secret).namespace(SECRET.namespace).get(SECRET.name).data or {}


def test_the_api_server_calls_webhooks_with_a_certificate_of_our_own(
    client: Client, tmp_path: Path
) -> None:
    """OP-CRT-02"""
    serve_foos(client)
    leader = Replica(client, REAL_CLOCK, tmp_path, leads=True)
    leader.server.start()
    try:
        register(client, leader.server.webhooks.manifests, leader.server.url)
        assert leader.certificates.ensure()
        created = (
            client.resource(Foo).namespace("default").create(Foo(metadata=ObjectMeta(name="a")))
        )
        leader.server.check()
    finally:
        assert leader.server.stop(60) == []
    assert created.spec.replicas == 3


def test_only_the_leader_writes_and_the_others_take_what_it_wrote(
    client: Client, replica: Callable[..., Replica]
) -> None:
    """OP-CRT-02, OP-WHK-13"""
    leader, follower = replica("leader", leads=True), replica("follower", leads=False)

    assert not follower.certificates.ensure()
    with pytest.raises(NotFoundError):
        stored(client)
    assert leader.certificates.ensure()
    before = stored(client)
    assert follower.certificates.ensure()

    assert stored(client) == before
    assert follower.server.certificate.statistics().is_loaded
    assert before["tls.crt"] == (follower.server.options.directory / "tls.crt").read_bytes()


def test_if_a_leader_needs_the_webhooks_any_replica_makes_the_first_certificates(
    clock: FakeClock, tmp_path: Path
) -> None:
    """OP-CRT-02: and writes the caBundle, even if the replica that made them has failed; only the
    leader changes an existing one."""
    client = FakeClient()
    one, other = (
        Replica(client, clock, tmp_path / name, leads=False, may_begin=True) for name in "12"
    )
    assert one.certificates.ensure()
    before = stored(client)
    register(client, one.server.webhooks.manifests, "https://127.0.0.1:1")
    assert other.certificates.ensure()

    assert stored(client) == before
    configurations = client.resource(MutatingWebhookConfiguration)
    configuration = configurations.get(CONFIGURATION)
    assert configuration.webhooks is not None
    assert configuration.webhooks[0].client_config.ca_bundle == before["ca.crt"]
    configuration.webhooks[0].client_config.ca_bundle = b"another"
    configurations.update(configuration)
    assert one.certificates.ensure()
    assert configurations.get(CONFIGURATION) == configuration


def test_of_two_that_begin_at_once_one_takes_what_the_other_made(
    clock: FakeClock, tmp_path: Path
) -> None:
    """OP-CRT-02: creating the Secret is atomic."""
    client = FakeClient()
    slow, fast = (
        Replica(client, clock, tmp_path / name, leads=False, may_begin=True) for name in "12"
    )

    overtaken: list[Any] = []

    def overtake(action: Any) -> None:
        if not overtaken:
            overtaken.append(action)
            assert fast.certificates.ensure()

    client.prepend_reactor("create", "secrets", overtake)
    assert slow.certificates.ensure()

    assert (tmp_path / "1" / "tls.crt").read_bytes() == stored(client)["tls.crt"]
    assert (tmp_path / "2" / "tls.crt").read_bytes() == stored(client)["tls.crt"]


def test_a_settled_leader_writes_nothing(clock: FakeClock, tmp_path: Path) -> None:
    """OP-CRT-02"""
    client = FakeClient()
    leader = Replica(client, clock, tmp_path, leads=True)
    register(client, leader.server.webhooks.manifests, "https://127.0.0.1:1")
    leader.certificates.ensure()
    client.clear_actions()

    leader.certificates.ensure()

    assert {action.verb for action in client.actions()} == {"get"}


def test_the_certificate_is_renewed_after_two_thirds_of_its_life_without_a_restart(
    client: Client, clock: FakeClock, replica: Callable[..., Replica]
) -> None:
    """OP-CRT-02"""
    leader, follower = replica("leader", leads=True), replica("follower", leads=False)
    leader.certificates.ensure()
    first = stored(client)

    clock.step(SERVING_LIFETIME * 0.66)
    leader.certificates.ensure()
    assert stored(client) == first
    clock.step(SERVING_LIFETIME * 0.01)
    leader.certificates.ensure()
    follower.certificates.ensure()

    renewed = stored(client)
    assert renewed["tls.crt"] != first["tls.crt"]
    assert renewed["ca.crt"] == first["ca.crt"]
    for one in (leader, follower):
        directory = one.server.options.directory
        assert (directory / "tls.crt").read_bytes() == renewed["tls.crt"]


def test_an_authority_is_announced_before_anybody_shows_a_certificate_of_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    """OP-CRT-02"""
    client = FakeClient()
    leader = Replica(client, clock, tmp_path, leads=True)
    register(client, leader.server.webhooks.manifests, "https://127.0.0.1:1")
    client.clear_actions()

    leader.certificates.ensure()

    writes = [action for action in client.actions() if action.verb != "get"]
    assert [(action.verb, action.resource.resource) for action in writes] == [
        ("update", "mutatingwebhookconfigurations"),
        ("create", "secrets"),
    ]
    configuration = client.resource(MutatingWebhookConfiguration).get(CONFIGURATION)
    assert [hook.client_config.ca_bundle for hook in configuration.webhooks or ()] == [
        stored(client)["ca.crt"]
    ]


@pytest.mark.parametrize(
    "spoilt", [{"tls.crt": b"nonsense"}, {"ca.crt": b"nonsense"}, {"ca.key": b""}]
)
def test_a_secret_with_bad_contents_is_repaired(
    client: Client, replica: Callable[..., Replica], spoilt: dict[str, bytes]
) -> None:
    """OP-CRT-02"""
    leader = replica("leader", leads=True)
    leader.certificates.ensure()
    secrets = client.resource(Secret).namespace(SECRET.namespace)
    secret = secrets.get(SECRET.name)
    secret.data = (secret.data or {}) | spoilt
    secrets.update(secret)

    assert leader.certificates.ensure()

    data = stored(client)
    directory = leader.server.options.directory
    assert (directory / "tls.crt").read_bytes() == data["tls.crt"]


def test_an_existing_secret_is_filled_and_its_other_contents_are_kept(
    client: Client, replica: Callable[..., Replica]
) -> None:
    """OP-CRT-02"""
    metadata = ObjectMeta(name=SECRET.name, namespace=SECRET.namespace)
    client.resource(Secret).create(Secret(metadata=metadata, data={"other": b"kept"}))

    assert replica("leader", leads=True).certificates.ensure()

    assert set(stored(client)) == {"other", "tls.crt", "tls.key", "ca.crt", "ca.key"}


def test_a_replica_that_is_elected_makes_the_certificate_at_once(
    client: Client, clock: FakeClock, replica: Callable[..., Replica]
) -> None:
    """OP-CRT-02"""
    elected = replica("elected", leads=False)
    stop = threading.Event()
    running = Background(lambda: elected.certificates.run(stop))
    clock.wait_for_waiters(1)
    assert not elected.server.certificate.statistics().is_loaded

    elected.leads = True
    elected.certificates.wake()
    clock.wait_for(lambda: elected.server.certificate.statistics().is_loaded)

    stop.set()
    running.result()
    assert stored(client)


def test_a_follower_looks_again_after_ten_seconds(
    client: Client, clock: FakeClock, replica: Callable[..., Replica]
) -> None:
    """OP-CRT-02"""
    leader, follower = replica("leader", leads=True), replica("follower", leads=False)
    stop = threading.Event()
    running = Background(lambda: follower.certificates.run(stop))
    clock.wait_for_waiters(1)
    leader.certificates.ensure()

    clock.step(10)
    clock.wait_for(lambda: follower.server.certificate.statistics().is_loaded)

    stop.set()
    running.result()


def test_a_server_that_cannot_be_reached_is_said_and_asked_again(
    clock: FakeClock, replica: Callable[..., Replica], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CRT-02"""
    keeper = SelfSignedCertificates(
        Client("http://127.0.0.1:1"),
        SECRET,
        names=NAMES,
        trusting=ALL,
        is_leader=lambda: True,
        install=lambda pair: None,
        clock=clock,
    )
    stop = threading.Event()
    with caplog.at_level(logging.WARNING, "clientgo.operator.certificates"):
        running = Background(lambda: keeper.run(stop))
        clock.wait_for_waiters(1)
    assert "cannot be kept" in caplog.text
    assert "tried again in 10 s" in caplog.text
    stop.set()
    running.result()


def test_without_the_package_that_makes_certificates_it_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CRT-02"""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def install(pair: KeyPair) -> None: ...

    with pytest.raises(ConfigError, match="needs the package cryptography"):
        SelfSignedCertificates(
            client,
            SECRET,
            names=NAMES,
            trusting=ALL,
            is_leader=lambda: True,
            install=install,
        )


def test_callers_that_trust_the_bundle_of_the_secret_can_connect(
    client: Client, tmp_path: Path
) -> None:
    """OP-CRT-02"""
    leader = Replica(client, REAL_CLOCK, tmp_path, leads=True)
    leader.certificates.ensure()
    leader.server.start()
    try:
        connect(leader.server.bound, trusting(stored(client)["ca.crt"])).close()
    finally:
        assert leader.server.stop(60) == []


def test_what_has_to_trust_it_follows_from_what_is_served(clock: FakeClock, tmp_path: Path) -> None:
    """OP-CRT-02"""
    webhooks = Webhooks()
    webhooks.register(fill_in, FromAlpha)
    server = WebhookServer(WebhookOptions(cert_dir=str(tmp_path), certs="self"), webhooks)
    client = FakeClient()

    certificates = self_signed_certificates(
        server, client, operator="demo", namespace="system", is_leader=lambda: True, clock=clock
    )
    certificates.ensure()

    assert [str(action) for action in client.actions()] == [
        "get secrets system/demo-webhook-cert",
        "get mutatingwebhookconfigurations demo-mutating-webhook-configuration",
        "get customresourcedefinitions jobs.demo.example.com",
        "create secrets system/demo-webhook-cert",
    ]
    pair = (tmp_path / "tls.crt").read_bytes()
    bundle = client.resource(Secret).namespace("system").get("demo-webhook-cert").data
    assert bundle is not None
    assert vouches_for(bundle["ca.crt"], pair, ["demo-webhook.system.svc", "127.0.0.1"])
