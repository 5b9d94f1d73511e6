from __future__ import annotations

import threading

import pytest

from clientgo.meta import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    GroupVersionResource,
    InternalServerError,
    InvalidError,
    ListMeta,
    NotFoundError,
    ObjectList,
    Unstructured,
)
from clientgo.testcluster.fields.managed_fields import ApplyConflictError
from clientgo.testing import AutoClock, ObjectTracker, Realism
from clientgo.testing.tracker.writes import WriteOptions
from tests.testing.builders import FOOS, PODS, Foo, foo, pod, told

ME = WriteOptions(writer="me")


def names(objs) -> list[str]:
    return [f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}" for obj in objs]


def test_an_object_is_found_by_resource_namespace_and_name():
    """FAKE-06."""
    tracker = ObjectTracker()
    tracker.create(FOOS, foo("a", replicas=3))

    assert tracker.get(Foo, "ns", "a")["spec"] == {"replicas": 3}
    for resource, namespace, name in [
        (FOOS, "", "a"),
        (FOOS, "other", "a"),
        (FOOS, "ns", "b"),
        (PODS, "ns", "a"),
    ]:
        with pytest.raises(NotFoundError):
            tracker.get(resource, namespace, name)


def test_what_is_stored_and_returned_are_copies():
    """FAKE-06."""
    tracker = ObjectTracker()
    mine = pod(containers=[])
    created = tracker.create(PODS, mine)
    for obj in (mine, created, tracker.get(PODS, "ns", "p"), *tracker.list(PODS)):
        obj["spec"]["containers"].append("mine")

    assert tracker.get(PODS, "ns", "p")["spec"]["containers"] == []


def test_the_namespace_of_the_request_fills_an_empty_one():
    """FAKE-06."""
    tracker = ObjectTracker()
    created = tracker.create(FOOS, foo("a", namespace=""), "ns")

    assert created["metadata"]["namespace"] == "ns"
    assert tracker.get(FOOS, "ns", "a") == created


def test_another_namespace_than_that_of_the_request_is_a_bad_request():
    """FAKE-06."""
    tracker = ObjectTracker()
    tracker.add(foo("a"))

    for write in (tracker.create, tracker.update):
        with pytest.raises(BadRequestError, match=r"ns.*other"):
            write(FOOS, foo("a"), "other")


def test_creating_what_exists_is_refused():
    """FAKE-06."""
    tracker = ObjectTracker()
    tracker.create(FOOS, foo("a"))

    with pytest.raises(AlreadyExistsError, match=r'foos.example.com "a" already exists'):
        tracker.create(FOOS, foo("a"))


def test_what_is_missing_can_be_neither_read_nor_written():
    """FAKE-06."""
    tracker = ObjectTracker()

    for ask in (
        lambda: tracker.get(FOOS, "ns", "a"),
        lambda: tracker.update(FOOS, foo("a")),
        lambda: tracker.patch(FOOS, "ns", "a", lambda live: live),
        lambda: tracker.delete(FOOS, "ns", "a"),
    ):
        with pytest.raises(NotFoundError, match=r'foos.example.com "a" not found'):
            ask()


def test_the_version_counts_creations_and_updates_of_one_resource():
    """FAKE-07."""
    tracker = ObjectTracker()
    versions = [tracker.resource_version(FOOS)]
    for change in (
        lambda: tracker.create(FOOS, foo("a")),
        lambda: tracker.update(FOOS, foo("a", replicas=2)),
        lambda: tracker.create(PODS, pod()),
        lambda: tracker.delete(FOOS, "ns", "a"),
    ):
        change()
        versions.append(tracker.resource_version(FOOS))

    assert versions == [1, 2, 3, 3, 3]


def test_objects_keep_the_version_that_they_came_with():
    """FAKE-07."""
    tracker = ObjectTracker()
    tracker.create(FOOS, foo("a", resource_version="77"))
    tracker.create(FOOS, foo("b"))

    assert tracker.get(FOOS, "ns", "a")["metadata"]["resourceVersion"] == "77"
    assert "resourceVersion" not in tracker.get(FOOS, "ns", "b")["metadata"]


def test_a_list_is_sorted_by_namespace_then_name():
    """FAKE-08."""
    tracker = ObjectTracker()
    tracker.add(foo("b", namespace="z"), foo("a", namespace="z"), foo("c", namespace="y"))

    assert names(tracker.list(FOOS)) == ["y/c", "z/a", "z/b"]
    assert names(tracker.list(FOOS, "z")) == ["z/a", "z/b"]


def test_a_watch_sees_every_change_from_then_on():
    """FAKE-09, FAKE-10: without a version nothing that exists is sent."""
    tracker = ObjectTracker()
    tracker.add(foo("before"))
    watch = tracker.watch(FOOS)
    tracker.create(FOOS, foo("a"))
    tracker.update(FOOS, foo("a", replicas=2))
    tracker.delete(FOOS, "ns", "a")

    events = watch.read()

    assert told(events) == ["ADDED a", "MODIFIED a", "DELETED a"]
    assert events[2].object["spec"] == {"replicas": 2}


def test_changes_go_to_the_watches_of_their_namespace_and_of_all():
    """FAKE-10: four watches, each with its own copy."""
    tracker = ObjectTracker()
    mine = [tracker.watch(FOOS, "ns"), tracker.watch(FOOS, "ns")]
    every = [tracker.watch(FOOS), tracker.watch(FOOS)]
    other = tracker.watch(FOOS, "other")
    tracker.create(FOOS, foo("a"))
    tracker.create(FOOS, foo("b", namespace="other"))

    seen = [watch.read() for watch in (*mine, *every, other)]

    assert [told(events) for events in seen] == [
        ["ADDED a"],
        ["ADDED a"],
        ["ADDED a", "ADDED b"],
        ["ADDED a", "ADDED b"],
        ["ADDED b"],
    ]
    assert len({id(events[0].object) for events in seen}) == 5


def test_a_watch_from_a_version_begins_with_what_is_newer():
    """FAKE-09: what was deleted in the gap does not show."""
    tracker = ObjectTracker()
    tracker.add(foo("old"), foo("touched"))
    since = tracker.resource_version(FOOS)
    tracker.update(FOOS, foo("touched", replicas=2))
    tracker.create(FOOS, foo("new"))
    tracker.delete(FOOS, "ns", "old")

    assert told(tracker.watch(FOOS, since=since).read()) == ["ADDED new", "ADDED touched"]


def test_a_stopped_watch_is_forgotten():
    """FAKE-10: writing after the stop is harmless, and nothing piles up in the dead watch."""
    tracker = ObjectTracker()
    watch = tracker.watch(FOOS)
    watch.stop()
    tracker.create(FOOS, foo("a"))

    assert watch.read() == []
    assert tracker._collections[FOOS].watches == []


def test_a_watch_that_nobody_reads_holds_up_nobody():
    """FAKE-11, P-33: client-go panics in the writer at the 101st unread event."""
    tracker = ObjectTracker()
    watch = tracker.watch(FOOS)
    for number in range(1000):
        tracker.create(FOOS, foo(f"a{number}"))

    assert len(watch.read()) == 1000


UNREADABLE = [
    pytest.param({"metadata": "x"}, r"Expected `object`.*\$\.metadata", id="metadata"),
    pytest.param({"metadata": {"name": 5}}, r"Expected `str`.*\$\.metadata\.name", id="name"),
    pytest.param({"metadata": {"name": "p", "labels": [1]}}, r"\$\.metadata\.labels", id="labels"),
    pytest.param({"kind": 3, "metadata": {"name": "p"}}, r"Expected `str`.*\$\.kind", id="kind"),
    pytest.param({"apiVersion": 3, "metadata": {"name": "p"}}, r"\$\.apiVersion", id="apiVersion"),
]


@pytest.mark.parametrize(("fields", "problem"), UNREADABLE)
def test_an_object_whose_header_no_client_could_read_is_refused(fields, problem):
    """FAKE-06: client-go cannot make such an object; a server answers 400."""
    tracker = ObjectTracker()
    broken = pod(namespace="") | fields

    for write in (
        lambda: tracker.create(PODS, broken),
        lambda: tracker.update(PODS, broken),
        lambda: tracker.apply(PODS, broken, "", ME),
        lambda: tracker.add(broken),
    ):
        with pytest.raises(BadRequestError, match=problem):
            write()
    assert tracker.list(PODS) == []


def test_a_change_that_breaks_the_header_stores_nothing():
    tracker = ObjectTracker()
    tracker.add(pod())

    with pytest.raises(BadRequestError, match=r"\$\.metadata\.labels"):
        tracker.patch(PODS, "ns", "p", lambda live: pod() | {"metadata": {"labels": 3}})
    assert tracker.list(PODS) == [pod()]


def test_a_failing_change_stores_nothing():
    tracker = ObjectTracker()
    tracker.add(foo("a", replicas=1))

    def change(live):
        live["spec"]["replicas"] = 9
        raise ValueError

    with pytest.raises(ValueError):
        tracker.patch(FOOS, "ns", "a", change)
    assert tracker.get(FOOS, "ns", "a")["spec"] == {"replicas": 1}


def test_a_change_cannot_rename():
    tracker = ObjectTracker()
    tracker.add(foo("a"))

    with pytest.raises(BadRequestError, match="'a'"):
        tracker.patch(FOOS, "ns", "a", lambda live: foo("b").to_dict())


def test_changes_from_several_threads_are_not_lost():
    tracker = ObjectTracker()
    tracker.add(foo("a", replicas=0))

    def change(live):
        live["spec"]["replicas"] += 1
        return live

    def work() -> None:
        for _ in range(50):
            tracker.patch(FOOS, "ns", "a", change)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tracker.get(FOOS, "ns", "a")["spec"] == {"replicas": 200}


def test_a_dry_run_stores_and_tells_nothing():
    tracker = ObjectTracker(Realism.VERSIONS)
    tracker.add(foo("a"))
    watch = tracker.watch(FOOS)
    dry = WriteOptions(dry_run=True)
    created = tracker.create(FOOS, foo("b"), options=dry)
    tracker.update(FOOS, foo("a", replicas=2), options=dry)
    tracker.delete(FOOS, "ns", "a", dry)
    watch.stop()

    assert created["metadata"]["name"] == "b"
    assert [obj["spec"] for obj in tracker.list(FOOS)] == [{"replicas": 1}]
    assert watch.read() == []


# Seeds


def test_adding_again_replaces():
    tracker = ObjectTracker()
    watch = tracker.watch(FOOS)
    tracker.add(foo("a"))
    tracker.add(foo("a", replicas=2))

    assert tracker.get(FOOS, "ns", "a")["spec"] == {"replicas": 2}
    assert told(watch.read()) == ["ADDED a", "MODIFIED a"]


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
    ],
)
def test_the_plural_of_an_undeclared_kind_is_guessed(kind, plural):
    """FAKE-16."""
    tracker = ObjectTracker()
    tracker.add({"apiVersion": "g.io/v1", "kind": kind, "metadata": {"name": "a"}})

    assert len(tracker.list(GroupVersionResource("g.io", "v1", plural))) == 1


def test_an_odd_plural_is_given():
    """FAKE-16."""
    tracker = ObjectTracker()
    sheep = {"apiVersion": "g.io/v1", "kind": "Sheep", "metadata": {"name": "a"}}
    odd = GroupVersionResource("g.io", "v1", "sheep")
    tracker.create(odd, sheep)

    assert names(tracker.list(odd)) == ["/a"]


@pytest.mark.parametrize(
    "seed",
    [
        {"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b")]},
        {
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {"resourceVersion": "9"},
            "items": [{"metadata": {"name": name, "namespace": "ns"}} for name in "ab"],
        },
        ObjectList(metadata=ListMeta(), items=[Unstructured.from_dict(pod(name)) for name in "ab"]),
    ],
    ids=["List", "PodList", "ObjectList"],
)
def test_lists_are_taken_apart(seed):
    """FAKE-16."""
    tracker = ObjectTracker()
    tracker.add(seed)

    stored = tracker.list(PODS)
    assert names(stored) == ["ns/a", "ns/b"]
    assert {(obj["apiVersion"], obj["kind"]) for obj in stored} == {("v1", "Pod")}


@pytest.mark.parametrize(
    ("items", "error", "problem"),
    [
        ("x", ValueError, "the items of a PodList are a list, not 'x'"),
        ([3], TypeError, "a int is no API object"),
        ([None], TypeError, "a NoneType is no API object"),
    ],
)
def test_a_list_of_what_are_no_objects_is_refused(items, error, problem):
    with pytest.raises(error, match=problem):
        ObjectTracker().add({"apiVersion": "v1", "kind": "PodList", "items": items})


def test_a_seed_must_say_its_kind():
    with pytest.raises(ValueError, match="'a' does not say its apiVersion and kind"):
        ObjectTracker().add({"metadata": {"name": "a"}})


# Realism


def test_without_realism_nothing_is_simulated():
    """FAKE-15."""
    tracker = ObjectTracker()
    sent = foo("a", finalizers=("x",), resource_version="1")
    tracker.create(FOOS, sent)
    stale = foo("a", replicas=2, resource_version="0")
    tracker.update(FOOS, stale)

    assert tracker.get(FOOS, "ns", "a") == stale.to_dict()
    tracker.update(FOOS, sent)
    tracker.delete(FOOS, "ns", "a")
    assert tracker.list(FOOS) == []


@pytest.mark.parametrize("prefix", ["", "web-"])
def test_an_object_without_a_name_is_refused(prefix):
    """FAKE-15, P-33: client-go stores it under the empty name."""
    with pytest.raises((BadRequestError, InvalidError), match="name"):
        ObjectTracker().create(FOOS, foo("", generate_name=prefix))


def test_a_stale_version_is_a_conflict_if_versions_are_wanted():
    """FAKE-15."""
    tracker = ObjectTracker(Realism.VERSIONS)
    first = tracker.create(FOOS, foo("a"))
    second = tracker.update(FOOS, first)

    with pytest.raises(ConflictError, match="has been modified"):
        tracker.update(FOOS, first)
    third = tracker.update(FOOS, foo("a", replicas=3))
    versions = [obj["metadata"]["resourceVersion"] for obj in (first, second, third)]
    assert versions == ["2", "3", "4"]


def test_versions_of_all_resources_compare_if_one_counter_is_wanted():
    """FAKE-07a."""
    tracker = ObjectTracker(Realism.VERSIONS | Realism.ONE_COUNTER)
    a_foo = tracker.create(FOOS, foo("a"))
    a_pod = tracker.create(PODS, pod())
    watch = tracker.watch(FOOS, since=tracker.resource_version(FOOS))
    changed = tracker.update(FOOS, a_foo)

    versions = [obj["metadata"]["resourceVersion"] for obj in (a_foo, a_pod, changed)]
    assert versions == ["2", "3", "4"]
    assert tracker.resource_version(FOOS) == tracker.resource_version(PODS) == 4
    assert told(watch.read()) == ["MODIFIED a"]


def test_names_are_generated_if_they_are_wanted():
    """FAKE-15."""
    tracker = ObjectTracker(Realism.NAMES)
    made = [tracker.create(FOOS, foo("", generate_name="web-")) for _ in range(2)]

    assert names(made) == ["ns/web-00001", "ns/web-00002"]


def test_identity_is_given_and_kept_if_it_is_wanted():
    """FAKE-15."""
    tracker = ObjectTracker(Realism.IDENTITY, clock=AutoClock())
    created = tracker.create(FOOS, foo("a"))["metadata"]
    other = tracker.create(FOOS, foo("b"))["metadata"]
    updated = tracker.update(FOOS, foo("a", uid="mine"))["metadata"]

    assert created["creationTimestamp"] == "2000-01-01T00:00:00Z"
    assert updated == created
    assert other["uid"] != created["uid"]


# Apply


def test_applying_needs_a_name():
    """FAKE-14."""
    with pytest.raises(BadRequestError, match="name"):
        ObjectTracker().apply(FOOS, {"apiVersion": "example.com/v1", "kind": "Foo"}, "ns", ME)


def test_a_full_update_takes_over_what_it_changes():
    """FAKE-14."""
    tracker = ObjectTracker(Realism.OWNERSHIP)
    tracker.apply(FOOS, foo("a", replicas=1).to_dict(), "ns", ME)
    tracker.update(FOOS, foo("a", replicas=2), "ns", WriteOptions(writer="you"))

    with pytest.raises(ApplyConflictError, match='"you"'):
        tracker.apply(FOOS, foo("a", replicas=3).to_dict(), "ns", ME)


@pytest.mark.parametrize("write", ["create", "update"])
def test_an_object_that_does_not_fit_its_type_has_no_owners(write):
    """FAKE-14: a fake does not validate."""
    tracker = ObjectTracker(Realism.OWNERSHIP)
    tracker.add(*[pod()] * (write == "update"))
    stored = getattr(tracker, write)(PODS, pod(containers=3), "ns", ME)

    assert stored["spec"] == {"containers": 3}
    assert "managedFields" not in stored["metadata"]


def test_applying_what_does_not_fit_its_type_is_refused_as_a_server_does():
    """FAKE-14: with a 500."""
    tracker = ObjectTracker(Realism.OWNERSHIP)

    with pytest.raises(InternalServerError, match=r"\.spec\.containers: expected list, got 3"):
        tracker.apply(PODS, pod(containers=3), "ns", ME)
    assert tracker.list(PODS) == []
