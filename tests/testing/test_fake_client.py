from __future__ import annotations

import threading

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import PatchKind, ResourceListWatch
from clientgo.informers import DynamicInformerFactory, SharedInformerFactory
from clientgo.meta import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    DecodeError,
    InvalidError,
    ListOptions,
    NotFoundError,
    ObjectMeta,
    PartialObjectMetadata,
    TooManyRequestsError,
    Unstructured,
    UnsupportedMediaTypeError,
    WatchEvent,
)
from clientgo.rest import ConnectionLostError, RequestError
from clientgo.testing import Action, FakeClient, Realism, Verb
from clientgo.testing.fake_source import FakeStream
from tests.testing.builders import DYNAMIC_PODS, FOOS, PODS, Foo, FooSpec, foo, pod

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


# Patches


def deployment(**images: str) -> Deployment:
    containers = [Container(name=name, image=image) for name, image in images.items()]
    template = PodTemplateSpec(spec=PodSpec(containers=containers))
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="ns"),
        spec=DeploymentSpec(selector=LabelSelector(), template=template),
    )


def images_of(obj: Deployment) -> dict[str, str]:
    return {each.name: each.image for each in obj.spec.template.spec.containers}


def template_of(*containers: dict[str, str]) -> dict:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        (PatchKind.MERGE, template_of({"name": "b", "image": "2"}), {"b": "2"}),
        (PatchKind.STRATEGIC, template_of({"name": "b", "image": "2"}), {"a": "1", "b": "2"}),
        (
            PatchKind.JSON,
            [{"op": "remove", "path": "/spec/template/spec/containers/0"}],
            {"b": "1"},
        ),
    ],
)
def test_a_patch_is_applied_by_its_kind(kind, patch, expected):
    """FAKE-13."""
    client = FakeClient(deployment(a="1", b="1"))
    deployments = client.resource(Deployment).namespace("ns")

    patched = deployments.patch("web", patch, kind)

    assert images_of(patched) == expected
    assert deployments.get("web") == patched


def test_fields_that_a_patch_removes_are_gone():
    """FAKE-13."""
    client = FakeClient(pod(nodeName="n", hostname="h"))
    patched = (
        client.resource(DYNAMIC_PODS)
        .namespace("ns")
        .patch("p", {"spec": {"nodeName": None}, "metadata": {"labels": {"a": "b"}}})
    )

    assert patched["spec"] == {"hostname": "h"}
    assert patched.metadata.labels == {"a": "b"}


@pytest.mark.parametrize(
    ("patch", "kind", "error"),
    [
        ({}, "application/x", UnsupportedMediaTypeError),
        ({"spec": {}}, PatchKind.STRATEGIC, UnsupportedMediaTypeError),
        ({}, PatchKind.JSON, BadRequestError),
        ([{"op": "remove", "path": "/none"}], PatchKind.JSON, InvalidError),
        ([{"op": "replace", "path": "", "value": []}], PatchKind.JSON, BadRequestError),
    ],
)
def test_a_patch_that_cannot_be_applied_is_refused(patch, kind, error):
    """FAKE-13: a strategic merge needs a built-in kind."""
    client = FakeClient(foo("a"))

    with pytest.raises(error):
        client.resource(Foo).namespace("ns").patch("a", patch, kind)


# Apply


def test_applying_without_owners_is_a_merge_onto_what_exists():
    """FAKE-14."""
    client = FakeClient(deployment(a="1"), foo("a", replicas=1, labels={"x": "1"}))
    config = {"metadata": {"name": "web", "namespace": "ns"}}
    config |= template_of({"name": "b", "image": "2"})

    applied = client.resource(Deployment).apply(config, field_manager="me")
    other = client.resource(Foo).apply(foo("a", replicas=2), field_manager="me")

    assert images_of(applied) == {"a": "1", "b": "2"}
    assert (other.spec.replicas, other.metadata.labels) == (2, {"x": "1"})
    with pytest.raises(NotFoundError):
        client.resource(Foo).apply(foo("new"), field_manager="me")


def spec_of(replicas: int, name: str = "a") -> dict:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"replicas": replicas}}


def owners_of_replicas(obj: Foo) -> list[str]:
    entries = obj.to_dict()["metadata"]["managedFields"]
    return sorted(e["manager"] for e in entries if "f:replicas" in e["fieldsV1"]["f:spec"])


def test_applying_with_owners_creates_what_is_missing():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)

    applied = client.resource(Foo).apply(spec_of(2), field_manager="me")

    assert applied.spec == FooSpec(replicas=2)
    assert owners_of_replicas(applied) == ["me"]


def test_applying_what_another_owns_is_a_conflict_that_names_it():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    foos = client.resource(Foo)
    foos.apply(spec_of(2), field_manager="me")

    with pytest.raises(ConflictError, match=r'conflict with "me".*spec\.replicas'):
        foos.apply(spec_of(3), field_manager="you")
    assert foos.namespace("ns").get("a").spec.replicas == 2


def test_force_takes_a_field_over():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    foos = client.resource(Foo)
    foos.apply(spec_of(2), field_manager="me")

    applied = foos.apply(spec_of(3), field_manager="you", force=True)

    assert applied.spec.replicas == 3
    assert owners_of_replicas(applied) == ["you"]


def test_two_may_own_what_they_agree_on():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP)
    client.resource(Foo).apply(spec_of(2), field_manager="me")

    applied = client.resource(Foo).apply(spec_of(2), field_manager="you")

    assert owners_of_replicas(applied) == ["me", "you"]


def test_every_write_has_an_owner_if_owners_are_wanted():
    """FAKE-14."""
    client = FakeClient(realism=Realism.OWNERSHIP, field_manager="me")
    foos = client.resource(Foo).namespace("ns")
    foos.create(foo("a"))
    foos.patch("a", {"spec": {"replicas": 5}}, field_manager="you")

    with pytest.raises(ConflictError, match=r'"you" using example\.com/v1'):
        foos.apply(spec_of(6), field_manager="third")


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
