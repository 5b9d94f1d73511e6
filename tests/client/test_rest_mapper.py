from __future__ import annotations

import pytest

from clientgo.client import (
    APIGroup,
    CachedDiscovery,
    Discovered,
    DiscoveringRESTMapper,
    NoMatchError,
    RESTMapper,
    ServedResource,
)
from clientgo.meta import ForbiddenError, GroupVersion
from clientgo.testing import FakeClock


def discovered(*groups: tuple[str, list[str], str, dict[str, list[ServedResource]]]) -> Discovered:
    """Groups as (name, versions, preferred version, resources by version)."""
    found, resources = [], {}
    for name, versions, preferred, by_version in groups:
        found.append(
            APIGroup(
                name, tuple(GroupVersion(name, v) for v in versions), GroupVersion(name, preferred)
            )
        )
        for version, listed in by_version.items():
            resources[GroupVersion(name, version)] = tuple(listed)
    return Discovered(tuple(found), resources)


def served(group: str, version: str, plural: str, kind: str, *short: str, **more) -> ServedResource:
    return ServedResource(
        group=group, version=version, plural=plural, kind=kind, short_names=short, **more
    )


CLUSTER = discovered(
    (
        "extensions",
        ["v1beta1"],
        "v1beta1",
        {"v1beta1": [served("extensions", "v1beta1", "deployments", "Deployment", "deploy")]},
    ),
    (
        "apps",
        ["v2alpha1", "v1"],
        "v1",
        {
            "v1": [
                served("apps", "v1", "deployments", "Deployment", "deploy"),
                served("apps", "v1", "deployments/scale", "Scale"),
            ],
            "v2alpha1": [
                served("apps", "v2alpha1", "deployments", "Deployment"),
                served("apps", "v2alpha1", "experiments", "Experiment"),
            ],
        },
    ),
    ("metrics.io", ["v1"], "v1", {"v1": [served("metrics.io", "v1", "pods", "PodMetrics")]}),
    (
        "",
        ["v1"],
        "v1",
        {
            "v1": [
                served("", "v1", "pods", "Pod", "po", singular="pod"),
                served("", "v1", "events", "Event", "ev"),
            ]
        },
    ),
    ("events.io", ["v1"], "v1", {"v1": [served("events.io", "v1", "events", "Event", "ev")]}),
    ("zoo", ["v1"], "v1", {"v1": [served("zoo", "v1", "po", "Panda")]}),
)


@pytest.fixture(name="mapper")
def _mapper() -> RESTMapper:
    return RESTMapper(CLUSTER)


@pytest.mark.parametrize(
    ("name", "gvr"),
    [
        ("pods", ("", "v1", "pods")),
        ("pod", ("", "v1", "pods")),
        ("Pods", ("", "v1", "pods")),
        ("pods.metrics.io", ("metrics.io", "v1", "pods")),
        ("events", ("", "v1", "events")),
        ("events.v1.events.io", ("events.io", "v1", "events")),
        ("deployments", ("extensions", "v1beta1", "deployments")),
        ("deployment", ("extensions", "v1beta1", "deployments")),
        ("deployments.apps", ("apps", "v1", "deployments")),
        ("deployments.v2alpha1.apps", ("apps", "v2alpha1", "deployments")),
        ("experiments", ("apps", "v2alpha1", "experiments")),
        ("podmetrics", ("metrics.io", "v1", "pods")),
    ],
)
def test_names_lead_to_the_resource_of_highest_priority(mapper, name, gvr):
    """RMP-01, RMP-02: core v1, then groups in order, each in its preferred version; a singular
    that is not given is guessed."""
    assert mapper.resource(name).gvr == gvr


@pytest.mark.parametrize(
    "name", ["foos", "pods.nowhere", "deployments.v9.apps", "deployments/scale", "", "."]
)
def test_what_is_not_served_is_no_match(mapper, name):
    """RMP-02: subresources are ignored."""
    with pytest.raises(NoMatchError):
        mapper.resource(name)


@pytest.mark.parametrize(
    ("short", "gvr"),
    [
        ("deploy", ("extensions", "v1beta1", "deployments")),
        ("deploy.apps", ("apps", "v1", "deployments")),
        ("deploy.app", ("apps", "v1", "deployments")),
        ("po", ("zoo", "v1", "po")),
        ("ev", ("", "v1", "events")),
        ("ev.events", ("events.io", "v1", "events")),
    ],
)
def test_short_names_are_expanded(mapper, short, gvr):
    """RMP-05: an exact name is never expanded, the first in discovery order wins, the beginning
    of a group is enough."""
    assert mapper.resource(short).gvr == gvr


def test_an_ambiguous_short_name_warns_once_for_each_other_group(mapper, caplog):
    """RMP-05."""
    for _ in range(3):
        mapper.resource("deploy")

    assert caplog.messages == [
        "The short name 'deploy' could also mean deployments.apps; taking deployments.extensions"
    ]


def test_a_short_name_with_its_group_does_not_warn(mapper, caplog):
    mapper.resource("deploy.apps")

    assert caplog.messages == []


@pytest.mark.parametrize(
    ("group", "kind", "versions", "gvr"),
    [
        ("apps", "Deployment", (), ("apps", "v1", "deployments")),
        ("apps", "deployment", (), ("apps", "v1", "deployments")),
        ("apps", "Deployment", ("v2alpha1",), ("apps", "v2alpha1", "deployments")),
        ("apps", "Deployment", ("v9", "v2alpha1", "v1"), ("apps", "v2alpha1", "deployments")),
        ("apps", "Experiment", (), ("apps", "v2alpha1", "experiments")),
        ("", "PodList", (), ("", "v1", "podlists")),
        ("", "List", (), ("", "v1", "lists")),
    ],
)
def test_kinds_lead_to_their_resource(mapper, group, kind, versions, gvr):
    """RMP-02."""
    assert mapper.for_kind(group, kind, *versions).gvr == gvr


@pytest.mark.parametrize(
    ("group", "kind", "versions"),
    [("apps", "Foo", ()), ("nowhere", "Deployment", ()), ("apps", "Deployment", ("v9",))],
)
def test_a_kind_that_is_not_served_is_no_match(mapper, group, kind, versions):
    with pytest.raises(NoMatchError, match=kind):
        mapper.for_kind(group, kind, *versions)


class Growing:
    """A server on which a CRD is created while it is asked."""

    def __init__(self) -> None:
        self.found = CLUSTER
        self.times = 0

    def discover(self) -> Discovered:
        self.times += 1
        return self.found

    def resources(self, version: GroupVersion) -> tuple[ServedResource, ...]:
        return self.found.resources[version]

    def add_foos(self) -> None:
        foos = served("g.io", "v1", "foos", "Foo")
        self.found = discovered(("g.io", ["v1"], "v1", {"v1": [foos]}))


@pytest.mark.parametrize(
    "look_up",
    [lambda mapper: mapper.resource("foos"), lambda mapper: mapper.for_kind("g.io", "Foo")],
)
def test_a_new_crd_is_found_without_asking_all_the_time(look_up):
    """RMP-03: loads on first use; a miss looks again, once, and not before its time."""
    server, clock = Growing(), FakeClock()
    mapper = DiscoveringRESTMapper(CachedDiscovery(server, now=clock.monotonic))
    assert server.times == 0
    for _ in range(5):
        with pytest.raises(NoMatchError):
            look_up(mapper)
    assert server.times == 1

    server.add_foos()
    clock.step(30.0)

    assert look_up(mapper).plural == "foos"
    assert look_up(mapper).plural == "foos"
    assert server.times == 2


def test_reset_looks_again_at_once():
    """RMP-03."""
    server = Growing()
    mapper = DiscoveringRESTMapper(CachedDiscovery(server))
    mapper.resource("pods")
    server.add_foos()

    mapper.reset()

    assert mapper.resource("foos").kind == "Foo"


def test_partial_failures_do_not_matter_for_what_came_back():
    """RMP-04."""
    server = Growing()
    server.found = Discovered(
        CLUSTER.groups, CLUSTER.resources, {GroupVersion("down", "v1"): ForbiddenError.of("no")}
    )

    assert DiscoveringRESTMapper(CachedDiscovery(server)).resource("pods").kind == "Pod"


def test_a_name_that_is_not_found_may_be_of_a_group_that_does_not_answer() -> None:
    failed = {GroupVersion("metrics.k8s.io", "v1beta1"): ForbiddenError.of("no")}
    mapper = RESTMapper(Discovered(CLUSTER.groups, CLUSTER.resources, failed))
    said = "what metrics.k8s.io/v1beta1 offers is not known, its server does not answer"

    with pytest.raises(NoMatchError, match=said):
        mapper.resource("nodemetrics")
    with pytest.raises(NoMatchError, match=said):
        mapper.for_kind("metrics.k8s.io", "NodeMetrics")
