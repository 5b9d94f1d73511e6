"""The tables of built-in kinds: the mechanism with small tables, and every real table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.kinds.tables import kind_table, nodes
from clientgo.testcluster.server.kinds.tables.builtin_table import BuiltinTable
from clientgo.testcluster.server.kinds.tables.expressions import NO_VALUE, Expression
from clientgo.testcluster.server.kinds.tables.kind_table import TableError
from clientgo.testcluster.server.kinds.tables.nodes import Node, kind_node
from clientgo.util.text.yaml_reader import read_yaml

Tabled = Callable[[str], BuiltinTable]


@pytest.fixture
def deployments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tabled]:
    """Return the table of deployments that a text says, instead of the real one."""

    def table(text: str) -> BuiltinTable:
        (tmp_path / "apps.v1").mkdir()
        (tmp_path / "apps.v1/Deployment.yaml").write_text(text, encoding="utf-8")
        return BuiltinTable("apps/v1", "Deployment")

    def forget() -> None:
        kind_table.load_types.cache_clear()
        nodes.kind_node.cache_clear()

    forget()
    monkeypatch.setattr(kind_table, "_DATA", tmp_path)
    yield table
    forget()


def causes(table: BuiltinTable, new: dict[str, Any], old: Any = None) -> list[tuple[str, str]]:
    """Return the sorted causes of an object: field, and reason without its prefix."""
    return sorted(
        (error.field, error.reason.value.removeprefix("FieldValue"))
        for error in table.validate(new, old)
    )


def test_a_kind_without_a_file_has_no_table(deployments: Tabled) -> None:
    table = BuiltinTable("v1", "ConfigMap")
    assert not table.exists
    assert table.validate({"data": 1}) == []


def test_defaults_are_set_from_the_outer_type_to_the_inner_ones(deployments: Tabled) -> None:
    table = deployments(
        """
        DeploymentSpec:
          defaults:
            - replicas: 1
              strategy.type: RollingUpdate
            - when: self.strategy.type == 'RollingUpdate'
              strategy.rollingUpdate: {}
            - minReadySeconds: =self.replicas
        RollingUpdateDeployment:
          defaults: {maxSurge: 25%}
        """
    )
    obj: dict[str, Any] = {"spec": {"strategy": {}, "replicas": 3}}
    table.set_defaults(obj)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}
    assert obj == {"spec": {"replicas": 3, "minReadySeconds": 3, "strategy": strategy}}


def test_a_rule_of_a_repeated_type_about_the_whole_object_is_evaluated_each_time(
    deployments: Tabled,
) -> None:
    table = deployments(
        """
        core.v1.PodSpec:
          rules:
            - {rule: object.metadata.name != 'bad', field: hostname}
        """
    )
    spec: dict[str, Any] = {"template": {"spec": {"containers": []}}}
    assert causes(table, {"metadata": {"name": "good"}, "spec": spec}) == []
    found = causes(table, {"metadata": {"name": "bad"}, "spec": spec})
    assert found == [("spec.template.spec.hostname", "Invalid")]


def test_a_default_needs_its_parent_and_its_condition(deployments: Tabled) -> None:
    table = deployments(
        """
        DeploymentSpec:
          defaults:
            - strategy.type: RollingUpdate
            - {when: self.paused, replicas: 0}
            - minReadySeconds: =self.progressDeadlineSeconds
        """
    )
    obj: dict[str, Any] = {"spec": {}}
    table.set_defaults(obj)
    assert obj == {"spec": {}}


@pytest.mark.parametrize(
    ("said", "value", "expected"),
    [
        ("required", None, "Required"),
        ("required", 0, "Required"),
        ("{required: Invalid}", None, "Invalid"),
        ("{min: 1}", 0, "Invalid"),
        ("{max: 3, reason: Forbidden}", 4, "Forbidden"),
        ("{enum: [1, 2]}", 3, "NotSupported"),
        ("{enum: [1], reason: Invalid}", 3, "Invalid"),
        ("forbidden", 1, "Forbidden"),
        ("port", 70000, "Invalid"),
        ("port", None, ""),
    ],
)
def test_a_constraint_of_a_field_gives_its_reason(
    deployments: Tabled, said: str, value: int | None, expected: str
) -> None:
    table = deployments(f"DeploymentSpec: {{fields: {{replicas: {said}}}}}")
    spec = {} if value is None else {"replicas": value}
    found = causes(table, {"spec": spec})
    assert found == ([("spec.replicas", expected)] if expected else [])


def test_a_shared_type_is_checked_wherever_the_published_type_refers_to_it(
    deployments: Tabled,
) -> None:
    table = deployments(
        """
        core.v1.Container: {fields: {name: required dns-label}}
        core.v1.ContainerPort: {fields: {containerPort: required port}}
        """
    )
    pod = {
        "initContainers": [{"name": ""}],
        "containers": [{"name": "A", "ports": [{"containerPort": 0}]}],
    }
    assert causes(table, {"spec": {"template": {"spec": pod}}}) == [
        ("spec.template.spec.containers[0].name", "Invalid"),
        ("spec.template.spec.containers[0].ports[0].containerPort", "Required"),
        ("spec.template.spec.initContainers[0].name", "Required"),
    ]


def test_a_path_says_something_of_one_use_of_a_type(deployments: Tabled) -> None:
    table = deployments(
        """
        DeploymentSpec:
          fields:
            template.spec.restartPolicy: {enum: [Always]}
            template.metadata: {at: ""}
            template.metadata.labels: labels
            template.spec.containers[]: {checks: core.v1.Other}
        core.v1.Other: {fields: {image: required}}
        """
    )
    template = {
        "metadata": {"labels": {"a b": ""}},
        "spec": {"restartPolicy": "Never", "containers": [{}]},
    }
    assert causes(table, {"spec": {"template": template}}) == [
        ("spec.template.labels", "Invalid"),
        ("spec.template.spec.containers[0].image", "Required"),
        ("spec.template.spec.restartPolicy", "NotSupported"),
    ]


def test_maps_lists_and_the_number_of_members_are_checked(deployments: Tabled) -> None:
    table = deployments(
        """
        core.v1.ResourceRequirements:
          fields:
            limits: {keys: label-key}
            "limits{}": {min: 0}
        core.v1.Container:
          fields:
            args: {maxItems: 1, unique: true}
            env: {unique: name}
            ports: {unique: [containerPort, protocol]}
        """
    )
    container = {
        "args": ["a", "a"],
        "env": [{"name": "A"}, {"name": "A"}, {"name": ""}, {"name": ""}],
        "ports": [{"containerPort": 1}, {"containerPort": 1}],
        "resources": {"limits": {"a b": "1", "cpu": "-1m"}},
    }
    path = "spec.template.spec.containers[0]"
    assert causes(table, {"spec": {"template": {"spec": {"containers": [container]}}}}) == [
        (f"{path}.args", "TooMany"),
        (f"{path}.args[1]", "Duplicate"),
        (f"{path}.env[1].name", "Duplicate"),
        (f"{path}.ports[1]", "Duplicate"),
        (f"{path}.resources.limits[a b]", "Invalid"),
        (f"{path}.resources.limits[cpu]", "Invalid"),
    ]


def test_names_differ_between_lists_and_references_find_their_target(deployments: Tabled) -> None:
    table = deployments(
        """
        core.v1.PodSpec:
          distinct:
            - {of: ["containers[].name", "initContainers[].name"]}
          references:
            - {each: "containers[].volumeMounts[].name", to: ["volumes[].name"]}
        """
    )
    pod = {
        "containers": [{"name": "a", "volumeMounts": [{"name": "v"}, {"name": "w"}]}],
        "initContainers": [{"name": "a"}, {"name": "b"}],
        "volumes": [{"name": "v"}],
    }
    assert causes(table, {"spec": {"template": {"spec": pod}}}) == [
        ("spec.template.spec.containers[0].volumeMounts[1].name", "NotFound"),
        ("spec.template.spec.initContainers[0].name", "Duplicate"),
    ]


def test_a_target_with_an_error_is_not_found(deployments: Tabled) -> None:
    table = deployments(
        """
        core.v1.PodSpec:
          fields: {"volumes[].name": dns-label}
          references:
            - {each: "containers[].volumeMounts[]", by: name, to: ["volumes[].name"]}
        """
    )
    mounts = [{"name": "v"}, {"name": "B"}, {"name": ""}]
    pod = {"containers": [{"volumeMounts": mounts}], "volumes": [{"name": "v"}, {"name": "B"}]}
    assert causes(table, {"spec": {"template": {"spec": pod}}}) == [
        ("spec.template.spec.containers[0].volumeMounts[1]", "NotFound"),
        ("spec.template.spec.volumes[1].name", "Invalid"),
    ]


def test_a_repetition_is_reported_at_the_later_the_earlier_or_the_whole(
    deployments: Tabled,
) -> None:
    table = deployments(
        """
        core.v1.Container:
          distinct:
            - {of: ["env[].name"], field: later}
            - {of: ["env[].name"], field: earlier, report: earlier}
            - {of: ["env[].name"], field: whole, report: self, reason: Invalid}
        """
    )
    container = {"env": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}
    path = "spec.template.spec.containers[0]"
    assert causes(table, {"spec": {"template": {"spec": {"containers": [container]}}}}) == [
        (f"{path}.env[0].name.earlier", "Duplicate"),
        (f"{path}.env[2].name.later", "Duplicate"),
        (f"{path}.whole", "Invalid"),
    ]


def test_only_the_first_member_of_a_union_is_looked_into(deployments: Tabled) -> None:
    table = deployments(
        """
        core.v1.Probe:
          union: {fields: [exec, httpGet, grpc], none: Required, many: Forbidden}
          fields: {httpGet.path: required}
        """
    )

    def probe(**handlers: Any) -> dict[str, Any]:
        container = {"livenessProbe": handlers}
        return {"spec": {"template": {"spec": {"containers": [container]}}}}

    path = "spec.template.spec.containers[0].livenessProbe"
    assert causes(table, probe()) == [(path, "Required")]
    assert causes(table, probe(httpGet={})) == [(f"{path}.httpGet.path", "Required")]
    assert causes(table, probe(exec={}, httpGet={})) == [(f"{path}.httpGet", "Forbidden")]


def test_immutable_fields_may_not_change_nor_disappear(deployments: Tabled) -> None:
    table = deployments(
        """
        Deployment:
          fields:
            spec: {immutable: {except: ["template.spec.containers[].image"], reason: Forbidden}}
        DeploymentSpec:
          fields: {selector: immutable}
        """
    )

    def deployment(image: str, **spec: Any) -> dict[str, Any]:
        pod = {"containers": [{"name": "a", "image": image}]}
        return {"spec": {"template": {"spec": pod}, **spec}}

    old = deployment("1", selector={"matchLabels": {"a": "b"}})
    assert causes(table, deployment("2", selector={"matchLabels": {"a": "b"}}), old) == []
    assert causes(table, deployment("1"), old) == [
        ("spec", "Forbidden"),
        ("spec.selector", "Invalid"),
    ]
    assert causes(table, deployment("1")) == []


def test_a_rule_applies_where_its_fields_are_and_when_it_says(deployments: Tabled) -> None:
    table = deployments(
        """
        DeploymentSpec:
          rules:
            - {rule: self.minReadySeconds < self.progressDeadlineSeconds, field: minReadySeconds}
            - {rule: oldSelf.replicas <= self.replicas, field: replicas, reason: Forbidden}
            - {when: create, rule: "!self.paused", field: paused}
            - {unless: replicas, rule: has(self.paused), reason: Required}
        """
    )
    assert causes(table, {"spec": {"replicas": 1, "minReadySeconds": 5}}) == []
    late = {"replicas": 1, "minReadySeconds": 5, "progressDeadlineSeconds": 5, "paused": True}
    assert causes(table, {"spec": late}) == [
        ("spec.minReadySeconds", "Invalid"),
        ("spec.paused", "Invalid"),
    ]
    update = {"spec": {"replicas": 1, "paused": True}}
    assert causes(table, update, {"spec": {"replicas": 2}}) == [("spec.replicas", "Forbidden")]
    assert causes(table, {"spec": {}}) == [("spec", "Required")]


def test_a_rule_for_each_item_names_the_item_or_its_list(deployments: Tabled) -> None:
    table = deployments(
        """
        core.v1.Container:
          rules:
            - {each: "ports[]", rule: item.containerPort != item.hostPort, field: hostPort}
            - {each: "ports[]", needs: item.name, rule: item.name != 'x', field: ^.name}
            - {each: "ports[]", needs: item.name, rule: item.name != 'x', field: ^^.port}
        """
    )
    ports = [{"containerPort": 1, "hostPort": 1}, {"containerPort": 1, "hostPort": 2, "name": "x"}]
    path = "spec.template.spec.containers[0].ports"
    assert causes(table, {"spec": {"template": {"spec": {"containers": [{"ports": ports}]}}}}) == [
        ("spec.template.spec.containers[0].port", "Invalid"),
        (f"{path}.name", "Invalid"),
        (f"{path}[0].hostPort", "Invalid"),
    ]


def test_the_status_is_checked_in_writes_to_the_status_only(deployments: Tabled) -> None:
    table = deployments(
        """
        Deployment:
          rules:
            - {status: true, rule: self.status.replicas <= self.spec.replicas, field: status}
        DeploymentSpec: {fields: {replicas: {max: 3}}}
        DeploymentStatus: {fields: {replicas: {min: 0}, readyReplicas: {min: 0}}}
        """
    )
    obj = {"spec": {"replicas": 4}, "status": {"replicas": 5, "readyReplicas": -1}}
    assert causes(table, obj) == [("spec.replicas", "Invalid")]
    found = sorted((e.field, e.reason.value) for e in table.validate_status(obj, obj))
    invalid = "FieldValueInvalid"
    assert found == [("status", invalid), ("status.readyReplicas", invalid)]


@pytest.mark.parametrize(
    "text",
    [
        "DeploymentSpec: {fields: {replica: {min: 0}}}",
        "DeploymentSpec: {fields: {replicas: {minimum: 0}}}",
        "DeploymentSpec: {fields: {replicas: no-such-format}}",
        "DeploymentSpec: {rule: []}",
        "DeploymentSpec: {rules: [{rule: 'true', path: x}]}",
        "DeploymentSpec: {check: no-such-check}",
    ],
)
def test_a_mistake_in_a_table_is_reported(deployments: Tabled, text: str) -> None:
    table = deployments(text)
    with pytest.raises(TableError):
        table.validate({"spec": {}})


# -- the real tables


KINDS = sorted(
    {
        (resource.api_version, resource.kind)
        for resource in builtin_resources()
        if kind_node(resource.api_version, resource.kind) is not None
    }
)


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_every_expression_of_a_table_compiles_and_reads_fields_that_exist(
    api_version: str, kind: str
) -> None:
    node = kind_node(api_version, kind)
    assert node is not None
    for inner in _nodes_below(node, set()):
        for source in _expressions(inner):
            Expression(source).program  # noqa: B018
            names = re.findall(r"\b(?:self|oldSelf)\.\??(\w+)(?!\w*\()", source)
            known = inner.type.field_names
            assert not known or set(names) <= {*known}, f"{source} of {inner.type.name}"


def test_a_table_of_a_kind_can_be_compiled_and_is_not_empty() -> None:
    for api_version, kind in KINDS:
        table = BuiltinTable(api_version, kind)
        assert table.exists
        table.set_defaults({})
    assert len(KINDS) > 10


def _nodes_below(node: Node, seen: set[int]) -> Iterator[Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    for below in (*node.members.values(), node.items, node.values):
        if below is not None:
            yield from _nodes_below(below, seen)


def _expressions(node: Node) -> Iterator[str]:
    for place in node.places:
        for rule in place.rules:
            yield rule["rule"]
        for group in place.defaults:
            if "when" in group:
                yield group["when"]
            for value in group.values():
                if isinstance(value, str) and value.startswith("="):
                    yield value[1:]


def test_an_expression_that_reads_a_missing_field_has_no_value() -> None:
    expression = Expression("self.image.endsWith(':latest') && self.?count.orValue(1) > 0")

    assert expression.evaluate({"self": {"image": "a:latest"}}) is True
    assert expression.evaluate({"self": {"image": "a:latest", "count": 0}}) is False
    assert expression.evaluate({"self": {"count": 2}}) is NO_VALUE


def test_a_result_that_one_side_decides_needs_no_other_field() -> None:
    either = Expression("self.type == 'A' || self.port == 1")

    assert either.evaluate({"self": {"type": "A"}}) is True
    assert either.evaluate({"self": {"type": "B"}}) is NO_VALUE


def test_the_servers_of_a_process_share_the_tables() -> None:
    first, second = BuiltinStrategy("v1", "Pod"), BuiltinStrategy("v1", "Pod")

    assert first.table is second.table


def test_no_table_sets_a_key_twice() -> None:
    """The loader takes the last one: it would drop the rules of the first without an error."""
    tables = sorted(kind_table._DATA.rglob("*.yaml"))

    assert tables
    assert not [twice for table in tables for twice in read_yaml(table.read_bytes())[1]]
