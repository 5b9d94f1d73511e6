"""The helper that connects informers, a queue and workers."""

from __future__ import annotations

import logging
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.cache import InformerName
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.leaderelection import LeadershipLostError, LeaseExpiredError, Timing
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.observe.logs import ContextFilter
from clientgo.observe.metrics import NO_METRICS, set_default_provider
from clientgo.observe.serving import Request, ServingError
from clientgo.sharding import Ownership, ShardLeases, ShardMember
from clientgo.testing import FakeRecorder
from tests.background import Background

QUICK = Timing(lease_duration=60, renew_deadline=40, retry_period=0.1)
A = ObjectName("default", "a")


def config_map(name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels))


@contextmanager
def running(
    loop: ControlLoop, sync: Callable[[ObjectName], float | None]
) -> Iterator[threading.Event]:
    stop = threading.Event()
    thread = Background(lambda: loop.run(sync, stop))
    try:
        yield stop
    finally:
        stop.set()
        thread.result()


def test_objects_that_exist_change_and_go_are_synced(kube_client: Client) -> None:
    maps = kube_client.resource(ConfigMap).namespace("default")
    maps.create(config_map("a"))
    loop = ControlLoop(kube_client, "test")
    cache = loop.watch(ConfigMap)
    seen: SimpleQueue[tuple[str, bool]] = SimpleQueue()

    def sync(name: ObjectName) -> None:
        if name.name != "kube-root-ca.crt":
            seen.put((name.name, any(x.metadata.name == name.name for x in cache.list())))

    with running(loop, sync):
        assert seen.get(timeout=30) == ("a", True)
        maps.create(config_map("b"))
        assert seen.get(timeout=30) == ("b", True)
        maps.delete("b")
        assert seen.get(timeout=30) == ("b", False)


def test_other_kinds_are_mapped_to_keys(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test")
    loop.watch(Secret, lambda secret: [ObjectName("default", secret.metadata.labels["for"])])
    seen: SimpleQueue[ObjectName] = SimpleQueue()

    with running(loop, lambda name: seen.put(name)):
        secret = Secret(metadata=ObjectMeta(name="s", labels={"for": "a"}))
        kube_client.resource(Secret).namespace("default").create(secret)
        assert seen.get(timeout=30) == A


def test_a_key_that_fails_is_retried_and_one_that_asks_comes_back(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test")
    answers = iter([ValueError("no"), 0.01, None])
    calls: SimpleQueue[object] = SimpleQueue()

    def sync(name: ObjectName) -> float | None:
        answer = next(answers)
        calls.put(answer)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with running(loop, sync):
        loop.queue.add(A)
        assert isinstance(calls.get(timeout=30), ValueError)
        assert [calls.get(timeout=30), calls.get(timeout=30)] == [0.01, None]


def test_only_the_leader_works_and_a_lost_lease_ends_it(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test", lease="default/test", timing=QUICK)
    synced = threading.Event()
    stop = threading.Event()
    loop.queue.add(A)
    thread = Background(lambda: loop.run(lambda _: synced.set(), stop))
    assert synced.wait(30)
    leases = kube_client.resource(Lease).namespace("default")
    assert leases.get("test").spec.holder_identity

    leases.patch("test", {"spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600}})

    with pytest.raises(LeadershipLostError, match="another process has taken default/test"):
        thread.result()


def test_health_and_metrics_are_served_if_asked_for(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test", health="127.0.0.1:0")
    loop.watch(ConfigMap)
    synced = threading.Event()
    loop.queue.add(A)

    with running(loop, lambda _: synced.set()):
        assert synced.wait(30)
        for page in ("healthz", "readyz"):
            host, port = loop.serves["health"]
            url = f"http://{host}:{port}/{page}?verbose"
            with urllib.request.urlopen(url, timeout=30) as answer:
                text = answer.read().decode()
            assert "informer" in text
            assert ("leaderElection" in text) == (page == "healthz")
            assert answer.status == 200


def test_a_leader_whose_lease_has_expired_is_not_healthy(kube_client: Client) -> None:
    """A restart helps: another process works by now."""

    class Elector:
        def check(self, tolerance: float) -> None:
            raise LeaseExpiredError("an hour ago")

    loop = ControlLoop(kube_client, "test", lease="default/test", health="127.0.0.1:0")
    loop._leading.attach(Elector())
    with loop._serving():
        host, port = loop.serves["health"]
        with pytest.raises(urllib.error.HTTPError) as failed:
            urllib.request.urlopen(f"http://{host}:{port}/healthz?verbose", timeout=30)
        with failed.value as answer:
            lines = answer.read().decode().splitlines()
    loop.queue.shut_down()
    assert "[-]leaderElection failed: reason withheld" in lines


def test_lines_that_are_logged_in_a_sync_have_its_key(
    kube_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Those of any library, and the one that says that it has failed."""
    caplog.set_level("INFO")
    loop = ControlLoop(kube_client, "test")
    log, failed = logging.getLogger("any.library"), threading.Event()

    def sync(name: ObjectName) -> None:
        log.info("at work")
        if not failed.is_set():
            failed.set()
            raise ValueError("no")
        synced.set()

    synced = threading.Event()
    context = ContextFilter()
    caplog.handler.addFilter(context)
    try:
        with running(loop, sync):
            loop.queue.add(A)
            assert synced.wait(30)
    finally:
        caplog.handler.removeFilter(context)

    of_sync = [record for record in caplog.records if hasattr(record, "key")]
    assert {record.key for record in of_sync} == {"default/a"}  # type: ignore[attr-defined]
    assert {record.name for record in of_sync} == {"any.library", "clientgo.workqueue"}
    (first, *_) = of_sync
    assert first.controller == "test"  # type: ignore[attr-defined]


def test_an_election_is_recorded(kube_client: Client) -> None:
    recorder, synced = FakeRecorder(), threading.Event()
    loop = ControlLoop(kube_client, "test", lease="default/test", timing=QUICK, recorder=recorder)
    loop.queue.add(A)
    with running(loop, lambda _: synced.set()):
        assert synced.wait(30)

    said = [line.rpartition(" ")[0].partition(" ")[2] for line in recorder.lines()]
    assert [line.split()[0] for line in said] == ["LeaderElection"] * 2
    assert [line.split()[-1] for line in said] == ["became", "stopped"]


@pytest.mark.usefixtures("default_metrics")
def test_informers_report_metrics_under_the_name_that_is_given(kube_client: Client) -> None:
    synced = threading.Event()
    with InformerName("named-here") as name:
        loop = ControlLoop(kube_client, "test", metrics="127.0.0.1:0", informer_name=name)
        loop.watch(ConfigMap)
        loop.queue.add(A)
        with running(loop, lambda _: synced.set()):
            assert synced.wait(30)
            host, port = loop.serves["metrics"]
            with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=30) as answer:
                page = answer.read().decode()
    assert 'informer_store_resource_version{group="",name="named-here"' in page


def test_an_address_that_is_taken_is_an_error(kube_client: Client) -> None:
    with pytest.raises(ServingError):
        ControlLoop(kube_client, "test", health="256.0.0.1:1").run(
            lambda _: None, threading.Event()
        )


@pytest.fixture
def default_metrics() -> Iterator[None]:
    """Ends what a loop with metrics sets for the whole process."""
    yield
    set_default_provider(NO_METRICS)


@pytest.mark.usefixtures("default_metrics")
def test_the_debug_page_shows_the_queue_the_informers_and_who_works(kube_client: Client) -> None:
    kube_client.resource(ConfigMap).namespace("default").create(config_map("a"))
    loop = ControlLoop(kube_client, "test", metrics="127.0.0.1:0", debug=True)
    loop.watch(ConfigMap)
    began, end = threading.Event(), threading.Event()

    def sync(name: ObjectName) -> None:
        if name == A:
            began.set()
            end.wait(30)

    def page(key: str = "") -> str:
        host, port = loop.serves["metrics"]
        with urllib.request.urlopen(f"http://{host}:{port}/debug/clientgo{key}") as answer:
            text: str = answer.read().decode()
        return text

    with running(loop, sync):
        assert began.wait(30)
        text = page("/default/a")
        assert re.search("^queue test: being processed for", text, re.MULTILINE)
        assert re.search("^informer .*: has version [0-9]+ of it$", text, re.MULTILINE)
        assert "test-1 (" in page()
        end.set()


@pytest.mark.usefixtures("default_metrics")
def test_a_standby_says_that_it_waits(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test", lease="default/l", metrics="127.0.0.1:0", debug=True)
    (path, page), *_ = loop._debug_page().items()
    text = page(Request(path, "default/a")).body.decode()
    loop.queue.shut_down()
    assert "no worker has been started" in text
    assert "lease default/l" in text


def test_the_debug_page_needs_an_address(kube_client: Client) -> None:
    with pytest.raises(ValueError, match="needs the address of the metrics server"):
        ControlLoop(kube_client, "test", debug=True)


def test_processes_share_the_keys(kube_client: Client) -> None:
    maps = kube_client.resource(ConfigMap).namespace("default")
    names = [f"m{number}" for number in range(20)]
    for name in names:
        maps.create(config_map(name))
    synced: SimpleQueue[tuple[str, str]] = SimpleQueue()
    loops = {}
    for me in ("one", "two"):
        loops[me] = ControlLoop(kube_client, me, lease="default/l", shards=8, timing=QUICK)
        loops[me].watch(ConfigMap)

    def sync_as(me: str) -> Callable[[ObjectName], None]:
        return lambda name: synced.put((me, name.name))

    def read_until(condition: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Read who synced each object last, until that is as it should be."""
        last: dict[str, str] = {}
        while not condition(last):
            me, name = synced.get(timeout=30)
            if name in names:
                last[name] = me
        return last

    with running(loops["one"], sync_as("one")):
        read_until(lambda last: last.keys() == set(names))
        with running(loops["two"], sync_as("two")):
            ours = loops["two"].ownership
            moved = read_until(lambda last: "two" in last.values())
            assert all(
                ours.owns(ObjectName("default", n)) for n, me in moved.items() if me == "two"
            )
        # The second has left: the first works on everything again.
        maps.create(config_map("last"))
        names.append("last")
        # What the second did before it left is read first, and then done again by the first.
        read_until(lambda last: last.get("last") == "one" and "two" not in last.values())


def test_an_event_of_a_shard_of_others_is_not_queued(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test", lease="default/l", shards=8)
    loop.watch(ConfigMap)
    with loop.factory:
        kube_client.resource(ConfigMap).namespace("default").create(config_map("a"))
        loop.factory.start(threading.Event())
        assert loop.factory.wait_for_cache_sync(threading.Event())
    assert len(loop.queue) == 0
    loop.queue.shut_down()


def test_a_deletion_in_a_shard_of_others_is_synced_by_its_next_owner(kube_client: Client) -> None:
    patient = Timing(lease_duration=60.0, renew_deadline=40.0, retry_period=0.1)
    leases = ShardLeases(kube_client.config, "default", "l", patient)
    other = ShardMember(
        leases, Ownership[ObjectName](8), on_acquired=lambda _shards: None, timing=patient
    )
    other.step()  # it has all shards, and never looks whether others have come
    maps = kube_client.resource(ConfigMap).namespace("default")
    maps.create(config_map("a"))
    loop = ControlLoop(kube_client, "test", lease="default/l", shards=8, timing=patient)
    loop.watch(ConfigMap)
    here, gone = threading.Event(), threading.Event()
    loop.factory.informer_for(ConfigMap).add_event_handler(
        on_add=lambda obj: here.set() if obj.metadata.name == "a" else None,
        on_delete=lambda _obj: gone.set(),
    )
    synced: SimpleQueue[ObjectName] = SimpleQueue()
    with running(loop, synced.put):
        assert here.wait(30)
        maps.delete("a")
        assert gone.wait(30)
        assert not loop.ownership.owned
        while not other.step(leaving=True):
            pass
        while synced.get(timeout=30) != A:
            pass
    leases.close()


def test_shards_need_a_lease(kube_client: Client) -> None:
    with pytest.raises(ValueError, match="shards need a lease"):
        ControlLoop(kube_client, "test", shards=8)


@pytest.mark.parametrize("lease", ["a/b/c", "default/"])
def test_a_lease_that_cannot_be_is_refused_at_once(kube_client: Client, lease: str) -> None:
    with pytest.raises(ValueError, match="is no lease; write namespace/name"):
        ControlLoop(kube_client, "test", lease=lease)


def test_a_loop_runs_once(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test")
    with running(loop, lambda name: None):
        pass

    with pytest.raises(RuntimeError, match="test has run already; make a new ControlLoop"):
        loop.run(lambda name: None, threading.Event())


@pytest.mark.parametrize(("shards", "purpose"), [(0, "leader-election"), (4, "sharding")])
def test_the_connections_of_its_leases_are_closed_at_the_end(
    kube_client: Client, monkeypatch: pytest.MonkeyPatch, shards: int, purpose: str
) -> None:
    """Or each run of a process that starts it again leaves some open."""
    closed: list[str] = []
    close = Client.close

    def note_and_close(client: Client) -> None:
        closed.append(client.config.user_agent.rpartition("/")[2])
        close(client)

    monkeypatch.setattr(Client, "close", note_and_close)
    kube_client.resource(ConfigMap).namespace("default").create(config_map("a"))
    loop = ControlLoop(kube_client, "test", lease="default/test", shards=shards, timing=QUICK)
    loop.watch(ConfigMap)
    synced = threading.Event()
    with running(loop, lambda _name: synced.set()):
        assert synced.wait(30)
        assert closed == []
    assert closed == [purpose]


def test_its_keys_can_take_turns_by_namespace(kube_client: Client) -> None:
    loop = ControlLoop(kube_client, "test", fair_by=lambda key: key.namespace)
    for number in range(100):
        loop.queue.add(ObjectName("many", str(number)))
    loop.queue.add(ObjectName("one", "a"))

    assert "one" in [loop.queue.get()[0].namespace for _ in range(2)]
    loop.queue.shut_down()
