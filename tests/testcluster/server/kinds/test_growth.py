"""The work on an object grows as the object does, and not with its square."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.pod_warnings import pod_warnings
from clientgo.testcluster.server.resources.resource import Resource

Object = dict[str, Any]


def steps(work: Callable[[], object]) -> int:
    """Return the number of instructions of the interpreter that work takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def resource(kind: str) -> Resource:
    return next(found for found in builtin_resources() if found.kind == kind)


def equal_ports(count: int) -> Object:
    return {"ports": [{"port": 1, "protocol": "TCP"}] * count}


def unknown_mounts(count: int) -> Object:
    mounts = [{"name": f"m{number}", "mountPath": "/a"} for number in range(count)]
    volumes = [{"name": f"v{number}", "emptyDir": {}} for number in range(count)]
    return {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], "volumes": volumes}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Service", equal_ports),
        ("Pod", unknown_mounts),
    ],
)
def test_causes(kind: str, spec: Callable[[int], Object]) -> None:
    """Every item has errors, which name its place."""
    strategy = resource(kind).strategy

    def check(count: int) -> int:
        obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec(count)}
        return steps(lambda: strategy.validate(obj))

    check(1)  # compiles the rules
    assert check(400) < 6 * check(100)


def test_equal_topologies() -> None:
    """A real server finds as many duplicates as there are pairs."""
    strategy = resource("StorageClass").strategy

    def check(count: int) -> int:
        term = {"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}
        obj = {"metadata": {"name": "a"}, "provisioner": "p", "allowedTopologies": [term] * count}
        return steps(lambda: strategy.validate(obj))

    check(1)
    assert check(400) < 6 * check(100)


def test_versions_of_a_definition() -> None:
    strategy = resource("CustomResourceDefinition").strategy
    schema = {"openAPIV3Schema": {"type": "object"}}

    def check(count: int) -> int:
        versions = [
            {"name": f"v{number}", "served": True, "storage": not number, "schema": schema}
            for number in range(count)
        ]
        spec = {"group": "example.com", "names": {}, "versions": versions}
        return steps(lambda: strategy.validate({"metadata": {"name": "a"}, "spec": spec}))

    check(1)
    assert check(400) < 6 * check(100)


def ports(count: int) -> Object:
    own = [{"containerPort": 80, "hostPort": number + 1} for number in range(count)]
    return {"containers": [{"name": "c", "ports": own}]}


def files(count: int) -> Object:
    items = [{"path": f"d{number}/a"} for number in range(count)]
    return {"volumes": [{"name": "v", "configMap": {"name": "c", "items": items}}]}


def secrets(count: int) -> Object:
    return {"imagePullSecrets": [{"name": f"s{number}"} for number in range(count)]}


@pytest.mark.parametrize("spec", [ports, files, secrets])
def test_warnings(spec: Callable[[int], Object]) -> None:
    def look(count: int) -> int:
        return steps(lambda: pod_warnings({"spec": spec(count)}))

    look(1)
    assert look(400) < 6 * look(100)


def test_warnings_that_no_response_has_place_for_are_not_made() -> None:
    spec = {"containers": [{"name": "c", "ports": [{"containerPort": 80}] * 400}]}

    assert len(pod_warnings({"spec": spec})) == 10_000


# -- the relations of ports and files, from each with each


def relation(port: Object, other: Object) -> str:
    hosts = [each.get("hostPort", 0) for each in (port, other)]
    addresses = [each.get("hostIP", "") for each in (port, other)]
    if port["containerPort"] != other["containerPort"]:
        return ""
    if hosts[0] == hosts[1] and addresses[0] == addresses[1]:
        return "duplicate"
    if 0 in hosts:
        return "overlapping"
    return "dangerously ambiguous" if hosts[0] == hosts[1] and "" in addresses else ""


@pytest.mark.parametrize("seed", range(20))
def test_ports_are_compared_with_each_other(seed: int) -> None:
    choice = random.Random(seed).choice
    numbers = {"containerPort": (1, 2), "hostPort": (0, 0, 5, 6), "hostIP": ("", "", "a", "b")}
    found = [{name: choice(values) for name, values in numbers.items()} for _ in range(12)]
    expected = [
        f"spec.containers[0].ports[{index}]: {said} port definition with "
        f"spec.containers[0].ports[{before}]"
        for index, port in enumerate(found)
        for before in range(index)
        if (said := relation(port, found[before]))
    ]

    warnings = pod_warnings({"spec": {"containers": [{"name": f"c{seed}", "ports": found}]}})

    assert [text for text in warnings if " with " in text] == expected


@pytest.mark.parametrize("seed", range(20))
def test_files_are_compared_with_each_other(seed: int) -> None:
    choice = random.Random(seed).choice
    paths = ["/".join(choice("abc") * choice((0, 1, 1)) for _ in range(choice((1, 2, 3))))
             for _ in range(12)]  # fmt: skip
    cut = [path.rstrip("/") for path in paths]
    expected = [
        f'volume "v{seed}" (DownwardAPI): overlapping paths: "{path}" with "{other}"'
        for index, path in enumerate(cut)
        for other in cut[:index]
        if path
        and other
        and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/"))
    ]

    volume = {"name": f"v{seed}", "downwardAPI": {"items": [{"path": path} for path in paths]}}

    assert pod_warnings({"spec": {"volumes": [volume]}}) == expected
