"""Values of fields as the API server compares them with a field selector."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta import APIResource
from clientgo.meta.selectors import field_reader, parse_field_selector, selects_object

NODE = APIResource(group="", version="v1", kind="Node", plural="nodes")


@pytest.mark.parametrize(
    ("kind", "obj", "field", "value"),
    [
        ("/Secret", {"type": "Opaque"}, "type", "Opaque"),
        ("/Pod", {"spec": {"nodeName": "n"}}, "spec.nodeName", "n"),
        ("/Pod", {"spec": {"nodeName": "n"}}, "spec.host", "n"),
        ("/Pod", {"spec": {}}, "spec.nodeName", ""),
        ("/Pod", {"spec": {}}, "spec.hostNetwork", "false"),
        ("/Pod", {"spec": {"hostNetwork": True}}, "spec.hostNetwork", "true"),
        ("/Pod", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "status.podIPs", ""),
        ("apps/ReplicaSet", {"status": {"replicas": 3}}, "status.replicas", "3"),
        ("apps/ReplicaSet", {}, "status.replicas", "0"),
        ("batch/Job", {"status": {"succeeded": 2}}, "status.successful", "2"),
        ("batch/Job", {}, "status.successful", "0"),
        ("/Event", {"involvedObject": {"name": "p"}}, "regarding.name", "p"),
        ("/Event", {"source": {"component": "a"}}, "source", "a"),
        ("/Event", {"reportingComponent": "a"}, "reportingController", "a"),
        ("events.k8s.io/Event", {"regarding": {"name": "p"}}, "involvedObject.name", "p"),
        ("events.k8s.io/Event", {"reportingController": "a"}, "reportingComponent", "a"),
        ("events.k8s.io/Event", {"deprecatedSource": {"component": "a"}}, "source", "a"),
        ("example.com/Node", {"spec": {"unschedulable": None}}, "spec.unschedulable", ""),
        ("example.com/Gadget", {"spec": "text"}, "spec.size", ""),
        ("example.com/Gadget", {"spec": {"size": 0}}, "spec.size", "0"),
        ("example.com/Gadget", {"spec": {"on": False}}, "spec.on", "false"),
        ("example.com/Gadget", {"metadata": {"name": "a"}}, "metadata.name", "a"),
    ],
)
def test_values_as_text(kind: str, obj: dict[str, Any], field: str, value: str) -> None:
    """OP-CLI-06c: also those that are elsewhere or left out."""
    group, _, name = kind.partition("/")
    assert (
        field_reader(APIResource(group=group, kind=name, version="", plural=""), field)(obj)
        == value
    )


def test_an_object_is_selected_by_all_terms() -> None:
    selector = parse_field_selector("spec.unschedulable=false,metadata.name!=b")
    assert selects_object(selector, NODE, {"metadata": {"name": "a"}})
    assert not selects_object(selector, NODE, {"metadata": {"name": "b"}})
    assert not selects_object(selector, NODE, {"spec": {"unschedulable": True}})
