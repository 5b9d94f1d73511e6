"""Which events are worth a look."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from clientgo.api.core_v1 import Secret
from clientgo.meta import ObjectMeta
from clientgo.operator import Predicate
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    DeleteEvent,
    GenericEvent,
    UpdateEvent,
)
from clientgo.operator.predicates import (
    all_of,
    annotations_changed,
    data_changed,
    generation_changed,
    generation_or_finalizers_changed,
    label_selector,
    labels_changed,
    resource_version_changed,
    type_is,
    worth_a_reconcile,
)
from tests.operator.world import gadget

A, B = gadget(), gadget()
EVERY_EVENT: list[ChangeEvent] = [
    CreateEvent(A),
    UpdateEvent(A, B),
    DeleteEvent(A),
    GenericEvent(A),
]


class Never(Predicate):
    """Lets nothing pass, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def passes(self, event: ChangeEvent) -> bool:
        self.asked += 1
        return False


def update(old: dict[str, Any], new: dict[str, Any]) -> UpdateEvent:
    return UpdateEvent(gadget(**old), gadget(**new))


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_everything_passes_unless_a_predicate_says_otherwise(event: ChangeEvent) -> None:
    """OP-PRD-01"""
    assert Predicate().passes(event)


@pytest.mark.parametrize("kind", ["create", "update", "delete", "generic"])
def test_each_kind_of_event_has_its_own_question(kind: str) -> None:
    """OP-PRD-01"""
    predicate = Predicate()
    setattr(predicate, kind, lambda event: False)
    names = {"CreateEvent": "create", "UpdateEvent": "update", "DeleteEvent": "delete"}
    for event in EVERY_EVENT:
        asked = names.get(type(event).__name__, "generic")
        assert predicate.passes(event) is (asked != kind)


def test_of_several_the_first_that_says_no_is_the_last_that_is_asked() -> None:
    """OP-PRD-01, BP-21: from left to right."""
    first, second = Never(), Never()
    assert not all_of(Predicate(), first, second).passes(CreateEvent(A))
    assert (first.asked, second.asked) == (1, 0)


def test_predicates_combine() -> None:
    """OP-PRD-02"""
    yes, no, event = Predicate(), Never(), CreateEvent(A)
    assert (yes & yes).passes(event)
    assert not (yes & no).passes(event)
    assert (no | yes).passes(event)
    assert not (no | no).passes(event)
    assert (~no).passes(event)
    assert not (~yes).passes(event)
    other: Any = "hold"
    for combine in (operator.and_, operator.or_):
        with pytest.raises(TypeError):
            combine(yes, other)


def test_a_function_is_asked_about_the_newest_state() -> None:
    """OP-PRD-02"""
    big = Predicate.of(lambda obj: obj.spec.size > 1)
    small, large = gadget(), gadget()
    large.spec.size = 2
    assert big.passes(UpdateEvent(small, large))
    assert not big.passes(UpdateEvent(large, small))
    assert not big.passes(DeleteEvent(small))


def test_an_update_that_is_none_can_be_told_from_one_that_is() -> None:
    """OP-PRD-03, BP-30"""
    old: dict[str, Any] = {"resource_version": "1"}
    same, new = dict(old), {"resource_version": "2"}
    assert not resource_version_changed.passes(update(old, same))
    assert resource_version_changed.passes(update(old, new))
    assert resource_version_changed.passes(CreateEvent(A))


def test_a_status_update_changes_no_generation() -> None:
    """OP-PRD-04"""
    assert not generation_changed.passes(update({"generation": 1}, {"generation": 1}))
    assert generation_changed.passes(update({"generation": 1}, {"generation": 2}))
    assert generation_changed.passes(DeleteEvent(A))


def test_finalizers_may_count_as_well() -> None:
    """OP-PRD-04, BP-25"""
    old: dict[str, Any] = {"generation": 1}
    new = old | {"finalizers": ("example.com/x",)}
    assert generation_or_finalizers_changed.passes(update(old, new))
    assert not generation_or_finalizers_changed.passes(update(old, old))


@pytest.mark.parametrize(
    ("old", "new", "passes"),
    [
        ({"generation": 1}, {"generation": 1}, False),
        ({"generation": 1}, {"generation": 2}, True),
        ({}, {}, True),
        ({"generation": 1}, {"generation": 1, "deletion_timestamp": "2026-01-01T00:00:00Z"}, True),
        ({"generation": 1}, {"generation": 1, "finalizers": ("example.com/x",)}, True),
        ({"generation": 1, "uid": "a"}, {"generation": 1, "uid": "b"}, True),
        ({"generation": 1}, {"generation": 1, "labels": {"a": "b"}}, False),
    ],
)
def test_the_default_for_primaries(
    old: dict[str, object], new: dict[str, object], passes: bool
) -> None:
    """OP-PRD-05, OP-BLD-13: an object without a generation always passes."""
    assert worth_a_reconcile(minds_finalizers=True).passes(update(old, new)) is passes


def test_without_a_finalizer_of_its_own_a_controller_minds_nobodys() -> None:
    """OP-PRD-05"""
    event = update({"generation": 1}, {"generation": 1, "finalizers": ("example.com/x",)})
    assert not worth_a_reconcile(minds_finalizers=False).passes(event)


def test_changes_of_labels() -> None:
    """OP-PRD-08"""
    assert labels_changed.passes(update({"labels": {"a": "1"}}, {"labels": {"a": "2"}}))
    assert not labels_changed.passes(update({"labels": {"a": "1"}}, {"labels": {"a": "1"}}))


def test_changes_of_annotations_all_or_some() -> None:
    """OP-PRD-08"""
    event = update({"annotations": {"a": "1", "b": "1"}}, {"annotations": {"a": "2", "b": "1"}})
    assert annotations_changed().passes(event)
    assert annotations_changed("a", "b").passes(event)
    assert not annotations_changed("b").passes(event)


@pytest.mark.parametrize("selector", ["app=web,!canary", {"app": "web"}])
def test_objects_with_labels(selector: str | dict[str, str]) -> None:
    """OP-PRD-08"""
    predicate = label_selector(selector)
    assert predicate.passes(CreateEvent(gadget(labels={"app": "web"})))
    assert not predicate.passes(CreateEvent(gadget(labels={"app": "db"})))


def tls_secret(certificate: bytes, *, annotated: bool, kind: str = "kubernetes.io/tls") -> Secret:
    annotations = {"example.com/use": "yes"} if annotated else {}
    return Secret(
        metadata=ObjectMeta(name="tls", namespace="default", annotations=annotations),
        type=kind,
        data={"tls.crt": certificate},
    )


@pytest.mark.parametrize(
    ("old", "new", "passes"),
    [
        (tls_secret(b"a", annotated=False), tls_secret(b"a", annotated=True), True),
        (tls_secret(b"a", annotated=True), tls_secret(b"a", annotated=False), True),
        (tls_secret(b"a", annotated=True), tls_secret(b"b", annotated=True), True),
        (tls_secret(b"a", annotated=False), tls_secret(b"b", annotated=False), False),
        (tls_secret(b"a", annotated=True), tls_secret(b"a", annotated=True), False),
        (
            tls_secret(b"a", annotated=False, kind="Opaque"),
            tls_secret(b"a", annotated=True, kind="Opaque"),
            False,
        ),
    ],
)
def test_the_certificate_that_somebody_asked_for(old: Secret, new: Secret, passes: bool) -> None:
    """BP-21, OP-PRD-08: a TLS Secret whose annotation comes or goes, or whose certificate changes
    while it is annotated."""
    annotated = Predicate.of(lambda obj: "example.com/use" in obj.metadata.annotations)
    wanted = type_is("kubernetes.io/tls") & (
        annotations_changed("example.com/use") | (annotated & data_changed("data", "tls.crt"))
    )
    assert wanted.passes(UpdateEvent(old, new)) is passes
