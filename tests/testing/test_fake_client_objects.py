"""Objects of a fake client: reads and writes, and what is not simulated."""

from __future__ import annotations

import threading

import pytest

from clientgo.meta import (
    AlreadyExistsError,
    BadRequestError,
    InvalidError,
    ListOptions,
    NotFoundError,
)
from clientgo.testing import FakeClient, Realism
from tests.testing.builders import DYNAMIC_PODS, FOOS, Foo, foo, pod

# The tracker, through a client


def test_a_write_through_the_client_is_read_through_it():
    """FAKE-06."""
    client = FakeClient()
    foos = client.resource(Foo).namespace("ns")
    foos.create(foo("a", namespace=""))
    foos.update(foo("a", replicas=2))

    assert foos.get("a") == foo("a", replicas=2)
    foos.delete("a")
    with pytest.raises(NotFoundError, match=r'foos.example.com "a" not found'):
        foos.get("a")


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda foos: foos.create(foo("a")), AlreadyExistsError),
        (lambda foos: foos.create(foo("b", namespace="other")), BadRequestError),
        (lambda foos: foos.update(foo("b")), NotFoundError),
        (lambda foos: foos.update_status(foo("b")), NotFoundError),
        (lambda foos: foos.patch("b", {}), NotFoundError),
        (lambda foos: foos.delete("b"), NotFoundError),
        (lambda foos: foos.create({}, name="b", subresource="x"), NotFoundError),
    ],
)
def test_a_wrong_write_is_refused_as_a_server_would(write, error):
    """FAKE-06."""
    client = FakeClient(foo("a"))

    with pytest.raises(error):
        write(client.resource(Foo).namespace("ns"))


def test_the_list_carries_the_version():
    """FAKE-07."""
    client = FakeClient(foo("a"))

    listed = client.resource(Foo).list()

    assert listed.metadata.resource_version == "2"
    assert listed.items[0].metadata.resource_version == ""


def test_a_list_is_selected_by_labels_alone():
    """FAKE-08: field selectors, limits and continue tokens are ignored."""
    client = FakeClient(foo("a", labels={"x": "1"}), foo("b"), foo("c", labels={"x": "1"}))
    options = ListOptions(
        label_selector="x=1", field_selector="metadata.name=a", limit=1, continue_="token"
    )

    listed = client.resource(Foo).list(options)

    assert [obj.metadata.name for obj in listed.items] == ["a", "c"]
    assert listed.metadata.continue_ == ""


def test_a_wrong_selector_is_a_bad_request():
    with pytest.raises(BadRequestError):
        FakeClient().resource(Foo).list(ListOptions(label_selector="!!"))


@pytest.mark.parametrize(
    ("version", "expected"), [("", ["a", "b"]), ("0", ["a", "b"]), ("2", ["b"])]
)
def test_a_watch_begins_with_what_is_newer_than_its_version(version, expected):
    """FAKE-09: what was created between a list and its watch is not lost."""
    client = FakeClient(foo("a"), foo("b"))
    watch = client.resource(Foo).watch(ListOptions(resource_version=version))

    events = watch.read()
    watch.stop()

    assert [(event.type, event.object.metadata.name) for event in events] == [
        ("ADDED", name) for name in expected
    ]


def test_a_watch_needs_a_version_that_is_a_number():
    """FAKE-09."""
    with pytest.raises(BadRequestError, match="'x'"):
        FakeClient().resource(Foo).watch(ListOptions(resource_version="x"))


def test_a_watch_does_not_select():
    """FAKE-09."""
    client = FakeClient(foo("a"))
    watch = client.resource(Foo).watch(ListOptions(label_selector="x=1"))

    assert len(watch.read()) == 1
    watch.stop()


def test_a_watch_ends_when_its_stop_event_is_set():
    client, stop = FakeClient(), threading.Event()
    watch = client.resource(Foo).watch(stop=stop)
    reader = threading.Thread(target=watch.read, daemon=True)
    reader.start()
    stop.set()
    reader.join(30)

    assert not reader.is_alive()


def test_writing_a_status_replaces_the_whole_object():
    """FAKE-12."""
    client = FakeClient(foo("a", replicas=1))
    changed = foo("a", replicas=5)
    changed.status.ready = 4
    client.resource(Foo).update_status(changed)

    assert client.resource(Foo).namespace("ns").get("a") == changed


def test_creating_below_an_object_replaces_it_if_it_is_of_its_kind():
    """FAKE-12."""
    client = FakeClient(foo("a"))
    foos = client.resource(Foo).namespace("ns")
    foos.create(foo("a", replicas=2), name="a", subresource="binding")

    assert foos.get("a").spec.replicas == 2


@pytest.mark.parametrize("write", ["create", "update"])
def test_what_is_of_another_kind_than_its_object_is_given_back_and_not_stored(write):
    """FAKE-12."""
    client = FakeClient(pod())
    pods = client.resource(DYNAMIC_PODS).namespace("ns")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}

    answer = getattr(pods, write)(eviction, name="p", subresource="eviction")

    assert answer == eviction
    assert pods.get("p") == pod()


# What is not simulated


def test_deleting_a_collection_deletes_nothing():
    """FAKE-15."""
    client = FakeClient(foo("a"))
    client.resource(Foo).namespace("ns").delete_collection()

    assert len(client.tracker.list(FOOS)) == 1


def test_deleting_a_collection_deletes_what_is_selected_if_that_is_wanted():
    """FAKE-15, P-33."""
    client = FakeClient(
        foo("a", labels={"x": "1"}),
        foo("b"),
        foo("c", namespace="other", labels={"x": "1"}),
        realism=Realism.COLLECTIONS,
    )
    client.resource(Foo).namespace("ns").delete_collection(ListOptions(label_selector="x=1"))

    assert [obj["metadata"]["name"] for obj in client.tracker.list(FOOS)] == ["b", "c"]


def test_a_dry_run_stores_nothing():
    client = FakeClient(foo("a"), realism=Realism.COLLECTIONS)
    foos = client.resource(Foo).namespace("ns")
    foos.create(foo("b"), dry_run=True)
    foos.patch("a", {"spec": {"replicas": 2}}, dry_run=True)
    foos.delete("a", dry_run=True)
    foos.delete_collection(dry_run=True)

    assert foos.list().items == [foo("a")]


def test_a_streamed_list_is_refused_before_any_reactor_is_asked():
    """FAKE-17, P-33: a reactor that knows nothing of bookmarks would let an informer hang."""
    client = FakeClient()
    client.prepend_reactor("watch", "foos", lambda _: pytest.fail("asked"))

    with pytest.raises(InvalidError, match="streams no lists"):
        client.resource(Foo).watch(ListOptions(send_initial_events=True))
