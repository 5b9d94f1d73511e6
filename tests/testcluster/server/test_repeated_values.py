"""Values that occur again: known by all of their content, and never shared."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta import repeated_values
from clientgo.meta.json_values import WholeFloat
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.testcluster.schema.openapi import builtin_type
from clientgo.testcluster.server.kinds.pod_warnings import pod_warnings
from clientgo.testcluster.server.kinds.tables.builtin_table import BuiltinTable
from clientgo.testcluster.server.kinds.typed_objects import TypeMismatchError, read_typed
from clientgo.testcluster.server.objects.metadata import label_causes

CONTAINER: dict[str, Any] = {"name": "c", "image": "i"}


def read(container: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a pod with a container as it is read, and its unknown fields."""
    pods = builtin_type("v1", "Pod")
    assert pods is not None
    return read_typed({"metadata": {}, "spec": {"containers": [container]}}, pods)


def complete(container: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with a container and its defaults."""
    pod, _ = read(container)
    BuiltinTable("v1", "Pod").set_defaults(pod)
    return pod


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1}, {"a": True}), ({"a": 1}, {"a": 1.0}), ({"a": 1}, {"a": "1"})]
)
def test_values_of_other_types_have_other_keys(one: Any, other: Any) -> None:
    assert value_key(one) != value_key(other)


def test_an_integer_that_was_written_as_a_float_has_no_key() -> None:
    assert value_key({"a": WholeFloat(1)}) == b""
    known = RepeatedValues()
    known.remember(b"", 1)
    assert known.result(b"") is None


def test_a_result_is_a_new_copy_each_time() -> None:
    known = RepeatedValues()
    known.remember(b"key", {"items": []})
    known.result(b"key")["items"].append(1)
    assert known.result(b"key") == {"items": []}


def test_the_memory_of_repeated_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_values, "_MOST_BYTES", 100)
    known = RepeatedValues()
    for number in range(100):
        known.remember(b"%d" % number, "x" * 10)
    kept = [number for number in range(100) if b"%d" % number in known]
    assert 99 in kept
    assert len(kept) < 10
    known.remember(b"large", "x" * 100)
    assert b"large" not in known


def test_equal_pods_are_read_alike_and_share_nothing() -> None:
    first = complete(CONTAINER)
    expected = complete(CONTAINER)
    first["spec"]["containers"][0]["image"] = "changed"
    first["spec"]["tolerations"] = [{}]
    assert complete(CONTAINER) == expected
    assert expected["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_an_unknown_field_of_a_container_is_found_each_time() -> None:
    for _ in range(2):
        assert read({**CONTAINER, "bogus": 1})[1] == ("spec.containers[0].bogus",)


def test_a_value_of_a_wrong_type_is_refused_after_an_equal_one_of_the_right_type() -> None:
    read({**CONTAINER, "ports": [{"containerPort": 1}]})
    with pytest.raises(TypeMismatchError):
        read({**CONTAINER, "ports": [{"containerPort": WholeFloat(1)}]})


def test_an_invalid_container_is_refused_each_time() -> None:
    table = BuiltinTable("v1", "Pod")
    pod = complete({"name": "c"})
    found = [[error.field for error in table.validate(pod)] for _ in range(2)]
    assert found == [["spec.containers[0].image"]] * 2


def test_a_reference_to_a_volume_with_an_error_is_refused_in_a_pod_that_was_valid_before() -> None:
    pod = complete({**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/v"}]})
    pod["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    table = BuiltinTable("v1", "Pod")
    assert table.validate(pod) == []
    pod["spec"]["volumes"] = [{"name": "v"}]
    fields = sorted(error.field for error in table.validate(pod))
    assert fields == ["spec.containers[0].volumeMounts[0].name", "spec.volumes[0]"]


def test_a_pod_is_warned_of_each_time_at_its_own_place() -> None:
    pod = {"spec": {"containers": [], "terminationGracePeriodSeconds": -1}}
    for prefix in ("", "template.", ""):
        [text] = pod_warnings(pod, prefix)
        assert text.startswith(f"{prefix}spec.terminationGracePeriodSeconds")


def test_an_invalid_label_is_refused_each_time() -> None:
    for labels, expected in [({"a": "b"}, 0), ({"a": "-"}, 1), ({"a": "-"}, 1), ({"a": "b"}, 0)]:
        assert len(label_causes({"labels": labels})) == expected
