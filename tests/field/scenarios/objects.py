"""Objects that a type does not expect: custom, newer than the client, or broken."""

from __future__ import annotations

import copy
from typing import Any, Final

from clientgo.testing.scripted_server import answer, answer_json
from tests.field.collection import open_watch
from tests.field.objects import FOOS, PODS, added, foo, key, keys, listing, pod
from tests.field.scenario import Field, scenario


@scenario("FIELD-01")
def custom_resources_are_cached_like_any_other(field: Field) -> None:
    foos = field.collection(FOOS)
    foos.on_list(answer_json(listing(foo("a"), foo("b"))))
    foos.on_watch(open_watch(added(foo("c", 11))))
    subject, recorder = field.watched(FOOS)
    field.until(
        lambda: recorder.told(key("c")) == ["add"],
        lambda: f"cache {sorted(subject.keys())}, {len(foos.watches)} watches",
    )
    field.check(subject.keys() == keys("a", "b", "c"), f"cache: {sorted(subject.keys())}")


def _broken(part: str, name: str, value: Any) -> dict[str, Any]:
    obj = copy.deepcopy(pod("bad"))
    obj[part][name] = value
    return obj


_ODD: Final = {
    "labels in a list": _broken("metadata", "labels", ["x"]),
    "a node name in a list": _broken("spec", "nodeName", ["x"]),
    "containers that are null": _broken("spec", "containers", None),
    "a numeric quantity": _broken(
        "spec", "containers", [{"name": "main", "resources": {"limits": {"cpu": 1}}}]
    ),
}


@scenario("FIELD-13", list(_ODD))
def one_odd_object_spoils_nothing(field: Field, odd: str) -> None:
    field.pods.on_list(answer_json(listing(_ODD[odd], pod("a"))))
    field.pods.on_watch(open_watch(added(_ODD[odd]), added(pod("b", 12))))
    subject, recorder = field.watched()
    field.until(
        lambda: recorder.told(key("b")) == ["add"],
        lambda: f"cache {sorted(subject.keys())} after {field.pods.requests} requests",
    )
    field.check(keys("a", "b") <= subject.keys(), f"cache: {sorted(subject.keys())}")
    field.check(len(field.pods.watches) == 1, f"{len(field.pods.watches)} watches")


@scenario("FIELD-13")
def a_list_whose_items_are_null_is_empty(field: Field) -> None:
    field.pods.on_list(answer_json(listing(items=None)))
    field.pods.on_watch(open_watch(added(pod("a", 11))))
    subject, recorder = field.watched()
    field.until(lambda: recorder.told(key("a")) == ["add"], "the cache stayed empty")
    field.check(subject.keys() == keys("a"), f"cache: {sorted(subject.keys())}")


@scenario("FIELD-14")
def fields_of_a_newer_server_survive_an_update(field: Field) -> None:
    newer = pod("a", brandNewHeader="kept")
    newer["spec"]["brandNew"] = {"field": "kept"}
    newer["spec"]["containers"][0]["brandNew"] = "kept"
    field.pods.on_list(answer_json(listing(newer)))
    field.server.on(f"{PODS}/a", lambda request: answer(200, request.body))
    subject, recorder = field.watched()
    field.until(lambda: recorder.calls, "the list was not told")
    subject.write_back(key("a"))
    sent = next(request for request in field.server.requests if request.method == "PUT").json()
    field.check(sent["metadata"]["labels"] == {"touched": "yes"}, "the change was not sent")
    lost = [
        where
        for where, part in {
            "metadata.brandNewHeader": sent["metadata"].get("brandNewHeader"),
            "spec.brandNew": sent["spec"].get("brandNew"),
            "spec.containers[0].brandNew": sent["spec"]["containers"][0].get("brandNew"),
        }.items()
        if part is None
    ]
    field.check(not lost, f"erased: {', '.join(lost)}")
