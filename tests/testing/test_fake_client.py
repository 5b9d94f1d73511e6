"""What a fake client records, how reactors answer, and who can use it."""

from __future__ import annotations

import threading

import pytest

from clientgo.client import ResourceListWatch
from clientgo.informers import DynamicInformerFactory, SharedInformerFactory
from clientgo.meta import (
    DecodeError,
    ListOptions,
    MethodNotAllowedError,
    PartialObjectMetadata,
    TooManyRequestsError,
    Unstructured,
    WatchEvent,
)
from clientgo.rest import ConnectionLostError, RequestError
from clientgo.testing import Action, FakeClient, Verb
from clientgo.testing.fake_source import FakeStream
from tests.testing.builders import DYNAMIC_PODS, FOOS, PODS, Foo, foo, pod

STOP = threading.Event()


def asked(client: FakeClient) -> list[str]:
    return [str(action) for action in client.actions()]


def refuse(_: Action) -> None:
    raise TooManyRequestsError.of("not now")


# Actions


def test_every_request_is_recorded_in_full():
    """FAKE-01."""
    client = FakeClient(field_manager="me")
    client.resource(Foo).create(foo("a"))

    assert client.actions() == [
        Action(
            Verb.CREATE,
            FOOS,
            namespace="ns",
            name="a",
            body=foo("a").to_dict(),
            options={"fieldManager": "me"},
        )
    ]


def test_requests_are_recorded_in_order_until_they_are_cleared():
    """FAKE-01."""
    client = FakeClient(foo("a"))
    foos = client.resource(Foo).namespace("ns")
    foos.get("a")
    snapshot = client.actions()
    foos.list()
    foos.watch().stop()
    foos.update_status(foo("a"))
    foos.patch("a", {"spec": {"replicas": 2}})
    foos.delete("a")
    foos.delete_collection()

    assert [str(action) for action in snapshot] == ["get foos ns/a"]
    assert asked(client) == [
        "get foos ns/a",
        "list foos ns",
        "watch foos ns",
        "update foos/status ns/a",
        "patch foos ns/a",
        "delete foos ns/a",
        "delete-collection foos ns",
    ]
    client.clear_actions()
    assert client.actions() == []


def test_a_request_is_recorded_before_reactors_run():
    """FAKE-01."""
    client = FakeClient()
    seen = []
    client.prepend_reactor("create", "foos", lambda _: seen.append(asked(client)))
    client.resource(Foo).create(foo("a"))

    assert seen == [["create foos ns/a"]]


def test_a_change_by_a_reactor_is_seen_by_the_next_but_not_in_the_record():
    """FAKE-01."""
    client = FakeClient()

    def scale(action: Action) -> None:
        action.body["spec"]["replicas"] = 9

    client.prepend_reactor("create", "foos", scale)
    created = client.resource(Foo).create(foo("a", replicas=1))

    assert created.spec.replicas == 9
    assert client.actions()[0].body["spec"]["replicas"] == 1


def test_a_call_that_cannot_be_right_never_becomes_an_action():
    client = FakeClient()

    with pytest.raises(RequestError, match="namespace"):
        client.resource(Foo).get("a")
    assert client.actions() == []


# Reactors


def test_a_prepended_reactor_answers_instead_of_the_tracker():
    """FAKE-03."""
    client = FakeClient(foo("a"))
    client.prepend_reactor("get", "foos", lambda _: foo("a", replicas=7))

    assert client.resource(Foo).namespace("ns").get("a").spec.replicas == 7


def test_an_added_reactor_comes_after_the_tracker():
    """FAKE-03."""
    client = FakeClient(foo("a"))
    client.add_reactor("*", "*", lambda _: pytest.fail("asked"))

    assert client.resource(Foo).namespace("ns").get("a").spec.replicas == 1


def test_a_reactor_may_refuse():
    client = FakeClient()
    client.prepend_reactor("create", "foos", refuse)

    with pytest.raises(TooManyRequestsError, match="not now"):
        client.resource(Foo).create(foo("a"))
    assert client.tracker.list(FOOS) == []


def test_a_reactor_may_use_the_client_that_it_serves():
    """FAKE-05: client-go deadlocks."""
    client = FakeClient()

    def create_pod(_: Action) -> None:
        client.resource(DYNAMIC_PODS).create(pod())

    client.prepend_reactor("create", "foos", create_pod)
    client.resource(Foo).create(foo("a"))

    assert asked(client) == ["create foos ns/a", "create pods ns/p"]


def test_a_lost_connection_is_tried_again_without_a_pause():
    """The pauses pass on a clock of the fake's own."""
    client = FakeClient(foo("a"))
    losses = iter([True, True, False])

    def lose(action: Action) -> None:
        if next(losses):
            raise ConnectionLostError("GET", "http://fake", "lost")

    client.prepend_reactor("get", "foos", lose)
    client.resource(Foo).namespace("ns").get("a")

    assert asked(client) == ["get foos ns/a"] * 3
    assert client.config.clock.monotonic() > 0


@pytest.mark.parametrize(
    "answer",
    [
        [foo("a"), foo("b")],
        (foo("a").to_dict(), Unstructured.from_dict(foo("b").to_dict())),
        FakeClient(foo("a"), foo("b")).resource(Foo).list(),
    ],
)
def test_a_reactor_may_answer_a_list_with_objects_of_any_sort(answer):
    client = FakeClient()
    client.prepend_reactor("list", "foos", lambda _: answer)

    assert client.resource(Foo).list().items == [foo("a"), foo("b")]


def test_a_reactor_may_answer_a_watch_with_a_stream():
    client = FakeClient()
    stream = FakeStream()
    client.prepend_reactor("watch", "foos", lambda _: stream)
    watch = client.resource(Foo).watch()
    stream.put([WatchEvent("ADDED", foo("a")), WatchEvent("DELETED", foo("a"))])

    assert [(event.type, event.object) for event in watch.read()] == [
        ("ADDED", foo("a")),
        ("DELETED", foo("a")),
    ]
    watch.stop()
    assert stream.is_stopped


def test_a_watch_that_cannot_be_read_on_is_closed():
    client = FakeClient()
    stream = FakeStream()
    client.prepend_reactor("watch", "foos", lambda _: stream)
    watch = client.resource(Foo).watch()
    stream.put([WatchEvent(3, foo("a"))])

    with pytest.raises(DecodeError):
        watch.read()
    assert stream.is_stopped


def test_an_answer_that_does_not_fit_its_type_fails_as_it_would_from_a_server():
    client = FakeClient()
    client.prepend_reactor("get", "foos", lambda _: {"metadata": {"name": 3, "labels": "x"}})

    with pytest.raises(DecodeError):
        client.resource(Foo).namespace("ns").get("a")


# What takes a client


def test_an_informer_follows_a_fake_client():
    """FAKE-17: it lists and watches."""
    client = FakeClient(foo("a"))
    stop, seen = threading.Event(), threading.Event()
    with SharedInformerFactory(client) as factory:
        foos = factory.informer_for(Foo)
        foos.add_event_handler(on_update=lambda _, new: seen.set())
        factory.start(stop)
        assert all(factory.wait_for_cache_sync(stop).values())
        client.tracker.update(FOOS, foo("a", replicas=4))
        assert seen.wait(30)
        cached = factory.lister_for(Foo).namespace("ns").get("a")

    assert cached.spec.replicas == 4
    assert asked(client) == ["watch foos", "list foos", "watch foos"]


def test_nothing_that_is_created_between_list_and_watch_is_lost():
    """FAKE-09, P-33."""
    client = FakeClient()
    seen = threading.Event()
    late = iter([foo("late")])

    def create_late(action: Action) -> None:
        for obj in late:
            client.tracker.add(obj)

    client.prepend_reactor("watch", "foos", create_late)
    with SharedInformerFactory(client) as factory:
        factory.informer_for(Foo).add_event_handler(on_add=lambda _: seen.set())
        factory.start(threading.Event())
        assert seen.wait(30)


def test_a_dynamic_client_takes_typed_seeds_and_needs_no_list_kind():
    """DYN-04."""
    client = FakeClient(foo("a"), pod())
    with DynamicInformerFactory(client) as factory:
        foos, pods = factory.for_resource(FOOS), factory.for_resource(PODS)
        factory.start(threading.Event())
        factory.wait_for_cache_sync(threading.Event())

        assert foos.lister.list() == [foo("a").to_dict()]
        assert pods.lister.list()[0].kind == "Pod"


def test_headers_alone_come_from_whole_objects():
    """MDT-02."""
    client = FakeClient(foo("a"))

    (header,) = client.metadata(Foo).list().items

    assert type(header) is PartialObjectMetadata
    assert header.metadata.name == "a"


def test_a_list_watch_takes_a_fake_client():
    client = FakeClient(foo("a"))
    source = ResourceListWatch(client.resource(Foo), "ns")

    assert source.list(ListOptions(), STOP).items == [foo("a")]


@pytest.mark.parametrize("stream", ["exec", "attach", "portforward", "log"])
def test_streams_to_pods_are_refused_with_what_has_them(stream: str) -> None:
    client = FakeClient(pod("a"))
    pods = client.resource(DYNAMIC_PODS).namespace("ns")
    calls = {
        "exec": lambda: pods.exec("a", ["ls"]),
        "attach": lambda: pods.attach("a"),
        "portforward": lambda: pods.open_port("a", 80),
        "log": lambda: pods.logs("a"),
    }

    with pytest.raises(MethodNotAllowedError, match=f"there is no {stream}; use an EmbeddedAPISer"):
        calls[stream]()
