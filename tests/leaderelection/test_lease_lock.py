"""The lock over HTTP: what is written on the Lease, and what becomes of bad answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.leaderelection import (
    USUAL_TIMING,
    LeaderElectionRecord,
    LeaseLock,
    lease_lock_from_config,
    unique_identity,
)
from clientgo.meta import AlreadyExistsError, ConflictError, NotFoundError
from clientgo.rest import RequestStoppedError, RestConfig, TransportTimeoutError
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeRecorder
from clientgo.testing.scripted_server import ScriptedServer, answer_json, stay_silent

_NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
_RECORD = LeaderElectionRecord(
    holder_identity="a",
    lease_duration_seconds=15,
    acquire_time=_NOW,
    renew_time=_NOW,
    leader_transitions=2,
)
_PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/le"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with EmbeddedAPIServer() as server:
        config = RestConfig(server=server.url, qps=-1)
        with Client(config, field_manager="tests") as client:
            yield client


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("_", "-").replace("[", "-").rstrip("]")


def test_a_record_that_was_written_is_read_back(client: Client, name: str) -> None:
    """LE-03, LE-22."""
    lock = LeaseLock(client, "default", name, "a")
    lock.create(_RECORD, timeout=30)
    assert lock.get(timeout=30) == _RECORD

    released = replace(_RECORD, holder_identity="", lease_duration_seconds=1)
    lock.update(released, timeout=30)

    assert LeaseLock(client, "default", name, "b").get(timeout=30) == released
    assert lock.describe() == f"default/{name}"
    assert lock.identity == "a"


def test_an_update_needs_something_to_update(client: Client, name: str) -> None:
    """LE-22."""
    lock = LeaseLock(client, "default", name, "a")

    with pytest.raises(RuntimeError, match=f"default/{name} must be read or created"):
        lock.update(_RECORD, timeout=30)


def test_a_lease_that_is_there_is_not_created_and_one_that_is_not_is_not_found(
    client: Client, name: str
) -> None:
    """LE-22."""
    lock = LeaseLock(client, "default", name, "a")
    with pytest.raises(NotFoundError):
        lock.get(timeout=30)
    lock.create(_RECORD, timeout=30)

    with pytest.raises(AlreadyExistsError):
        lock.create(_RECORD, timeout=30)


def test_an_update_of_something_older_is_a_conflict(client: Client, name: str) -> None:
    """LE-22."""
    mine, others = (LeaseLock(client, "default", name, identity) for identity in "ab")
    mine.create(_RECORD, timeout=30)
    others.get(timeout=30)
    mine.update(replace(_RECORD, renew_time=_NOW.replace(year=2027)), timeout=30)

    with pytest.raises(ConflictError):
        others.update(_RECORD, timeout=30)


def test_our_labels_are_put_beside_those_of_others(client: Client, name: str) -> None:
    """LE-22."""
    leases = client.resource(Lease).namespace("default")
    lock = LeaseLock(client, "default", name, "a", labels={"app": "foo", "tier": "back"})
    lock.create(_RECORD, timeout=30)
    assert leases.get(name).metadata.labels == {"app": "foo", "tier": "back"}
    leases.patch(name, {"metadata": {"labels": {"tier": "front", "theirs": "yes"}}})

    lock.get(timeout=30)
    lock.update(_RECORD, timeout=30)

    labels = {"app": "foo", "tier": "back", "theirs": "yes"}
    assert leases.get(name).metadata.labels == labels


def test_without_labels_those_of_others_stay(client: Client, name: str) -> None:
    """LE-22."""
    leases = client.resource(Lease).namespace("default")
    LeaseLock(client, "default", name, "a", labels={"app": "foo"}).create(_RECORD, timeout=30)
    lock = LeaseLock(client, "default", name, "b")

    lock.get(timeout=30)
    lock.update(_RECORD, timeout=30)

    assert leases.get(name).metadata.labels == {"app": "foo"}


def test_what_others_write_on_a_lease_survives_our_update(client: Client, name: str) -> None:
    leases = client.resource(Lease).namespace("default")
    lock = LeaseLock(client, "default", name, "a")
    lock.create(_RECORD, timeout=30)
    leases.patch(name, {"metadata": {"annotations": {"note": "kept"}}})

    lock.get(timeout=30)
    lock.update(_RECORD, timeout=30)

    assert leases.get(name).metadata.annotations == {"note": "kept"}


def test_fields_of_a_later_version_of_the_api_survive_our_update() -> None:
    """LE-22."""
    lease = {
        "metadata": {"name": "le", "resourceVersion": "7", "futureHeader": "kept"},
        "spec": {"holderIdentity": "b", "futureField": {"a": 1}},
        "status": {"future": True},
    }
    with ScriptedServer() as server:
        server.on(_PATH, answer_json(lease))
        lock = LeaseLock(Client(server.url), "default", "le", "a")

        lock.get(timeout=30)
        lock.update(_RECORD, timeout=30)

        sent = msgspec.json.decode(server.requests[-1].body)
    assert sent["spec"]["holderIdentity"] == "a"
    assert sent["spec"]["futureField"] == {"a": 1}
    assert sent["metadata"]["futureHeader"] == "kept"
    assert sent["status"] == {"future": True}


def test_events_are_about_the_lease(client: Client, name: str) -> None:
    """LE-20."""
    recorder = FakeRecorder()
    lock = LeaseLock(client, "default", name, "a", recorder=recorder)
    lock.create(_RECORD, timeout=30)

    lock.record_event("became leader")

    (event,) = recorder.recorded
    about = event.involved_object
    assert (about.kind, about.namespace, about.name) == ("Lease", "default", name)
    assert about.uid
    assert recorder.lines() == ["Normal LeaderElection a became leader"]


def test_without_a_recorder_there_are_no_events(client: Client, name: str) -> None:
    """LE-20."""
    LeaseLock(client, "default", name, "a").record_event("became leader")


def test_a_lock_of_its_own_has_its_own_limits() -> None:
    """LE-24, P-18: neither a rate limit nor a hanging request may cost the lease."""
    answered = answer_json({"kind": "Lease", "metadata": {"name": "le"}, "spec": {}})
    with ScriptedServer() as server:
        server.on(_PATH, *[answered] * 50)
        config = RestConfig(server=server.url, user_agent="foo", qps=0.001, burst=1)
        lock = lease_lock_from_config(config, "default", "le", "a", timing=USUAL_TIMING)

        for _ in range(20):
            lock.get(timeout=30)

        request = server.requests[0]
        assert request.headers["user-agent"] == "foo/leader-election"
        assert config.user_agent == "foo"


def test_a_request_is_given_up_when_its_time_is_over() -> None:
    """LE-14, P-18: and the server is told so."""
    with ScriptedServer() as server:
        server.on(_PATH, stay_silent())
        lock = LeaseLock(Client(server.url), "default", "le", "a")

        with pytest.raises(TransportTimeoutError):
            lock.get(timeout=0.5)

        assert server.wait_for_requests(1)[0].query["timeout"] == "500ms"


def test_a_request_is_cut_off_by_a_stop() -> None:
    """LE-14."""
    stop = threading.Event()
    with ScriptedServer() as server:
        server.on(_PATH, stay_silent())
        lock = LeaseLock(Client(server.url), "default", "le", "a")
        stopper = threading.Thread(
            target=lambda: (server.wait_for_requests(1), stop.set()), daemon=True
        )
        stopper.start()

        with pytest.raises(RequestStoppedError):
            lock.get(timeout=60, stop=stop)

        stopper.join()


def test_no_two_candidates_of_one_host_share_an_identity() -> None:
    assert unique_identity() != unique_identity()
