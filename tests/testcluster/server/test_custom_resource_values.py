"""Values of custom resources: numbers as they are written, nulls, embedded resources, cells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clientgo.meta.json_values import WholeFloat
from clientgo.testcluster.server.crds.custom_resources import CustomStrategy
from clientgo.testcluster.server.http.bodies import parse_json, parse_yaml
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.deep_values import encode
from tests.testcluster.server.http_api import CRDS, MERGE_PATCH, WIDGETS, Api, widget_crd
from tests.testcluster.server.policies import MUTATING, constraints, install, mutating

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
WIDGET = ResourceType("example.com", "v1", "Widget", "widgets")
TEMPLATE = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def strategy(**properties: Any) -> CustomStrategy:
    """The strategy of Widgets whose spec has the properties."""
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    return CustomStrategy({"name": "v1", "schema": {"openAPIV3Schema": schema}}, {})


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "spec": spec}


def problems(schema: dict[str, Any], value: str) -> list[str]:
    """The messages for a value of the schema, written in JSON."""
    body, _ = parse_json(f'{{"spec":{{"v":{value}}}}}'.encode())
    return [error.message for error in strategy(v=schema).validate(body)]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("1.5", "1.5"),
        ("1e18", "1000000000000000000"),
        ("9007199254740993.0", "9007199254740992"),
        ("1e30", "1e30"),
    ],
)
def test_a_float_without_a_fraction_is_stored_as_an_integer(text: str, stored: str) -> None:
    value, _ = parse_json(f"[{text}]".encode())
    assert encode(value) == f"[{stored}]".encode()
    assert isinstance(value[0], WholeFloat | float)


def test_a_float_without_a_fraction_is_an_integer_in_yaml() -> None:
    for body in (b"- 3.0\n", b'{"a": 3.0}'):
        value, _ = parse_yaml(body)
        assert json.dumps(value) in ("[3]", '{"a": 3}')
        [number] = value if isinstance(value, list) else value.values()
        assert type(number) is int


def test_a_float_without_a_fraction_raises_the_generation() -> None:
    custom = strategy(v={"type": "integer"})
    stored = {"spec": {"v": [3]}}
    for text, raises in (("3", False), ("3.0", True), ("4", True)):
        value, _ = parse_json(f'{{"spec": {{"v": [{text}]}}}}'.encode())
        assert custom.spec_changed(value, stored) is raises


def test_numbers_are_validated_as_they_are_written() -> None:
    tenths = {"type": "number", "multipleOf": 0.1}
    (problem,) = problems(tenths, "100")
    assert "factor MultipleOf" in problem
    assert problems(tenths, "100.0") == []
    (problem,) = problems({"type": "number", "maximum": 9.75}, "1e10")
    assert problem.startswith("Invalid value: 1e+10: ")
    (problem,) = problems({"type": "number", "maximum": 9.75}, "10000000000")
    assert problem.startswith("Invalid value: 10000000000: ")
    assert problems({"type": "integer", "format": "int32"}, "7.0") == []


def test_a_value_is_converted_to_the_type_of_an_enumeration_member() -> None:
    choices = {"type": "integer", "enum": [1, 2]}
    assert [item for item in problems(choices, "1.5") if item.startswith("Unsupported")] == []
    assert [item for item in problems(choices, "3.5") if item.startswith("Unsupported")] != []
    letters = {"type": "string", "enum": ["A"]}
    assert len(problems(letters, "65")) == 1
    assert len(problems(letters, "66")) == 2
    assert len(problems(letters, "-1")) == 2


def test_a_null_in_an_applied_object_is_left_to_validation() -> None:
    widgets = strategy(a={"type": "string"}, b={"type": "string", "default": "x"})
    obj = widget(a=None, b=None)
    assert widgets.decode(WIDGET, obj).obj["spec"] == {"b": "x"}
    applied = widgets.decode_applied(WIDGET, obj).obj
    assert applied["spec"] == {"a": None, "b": "x"}
    assert [error.field for error in widgets.validate(applied)] == ["spec.a"]


def test_metadata_of_an_embedded_resource_is_read_as_that_of_any_other() -> None:
    metadata = {"name": "x", "labels": None, "creationTimestamp": None, "bogus": 1}
    decoded = strategy(t=TEMPLATE).decode(
        WIDGET, widget(t={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}})
    )
    assert decoded.obj["spec"]["t"]["metadata"] == {"name": "x"}
    assert decoded.unknown_fields == ("spec.t.metadata.bogus",)


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ({"metadata": {"labels": {"a": 1}}}, "spec.t.metadata"),
        ({"metadata": "text"}, "spec.t.metadata"),
        ({"apiVersion": 1}, "spec.t.apiVersion"),
        ({"kind": None}, "spec.t.kind"),
    ],
)
def test_an_embedded_resource_with_a_header_of_wrong_types_is_no_object(
    header: dict[str, Any], field: str
) -> None:
    embedded = {"apiVersion": "v1", "kind": "Pod", **header}
    with pytest.raises(FailedRequestError) as refused:
        strategy(t=TEMPLATE).decode(WIDGET, widget(t=embedded))
    assert refused.value.code == 400
    assert f"cannot be handled as a Widget: {field}: Invalid value: " in refused.value.message


def cell(kind: str, value: Any, path: str = ".spec.v") -> Any:
    """The cell of a column for an object with the value."""
    column = {"name": "V", "type": kind, "jsonPath": path}
    columns = CustomStrategy({"name": "v1", "additionalPrinterColumns": [column]}, {}).columns
    return columns[1].cell({"spec": {"v": value}})


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", None, "<no value>"),
        ("integer", None, None),
        ("integer", 1.9, 1),
        ("integer", 1e30, -(2**63)),
        ("integer", "3", None),
        ("integer", True, None),
        ("number", 3, 3),
        ("number", True, None),
        ("boolean", True, True),
        ("boolean", 1, None),
        ("date", 3, None),
        ("date", "", "<unknown>"),
        ("date", "not a date", "<invalid>"),
    ],
)
def test_a_cell_has_the_type_of_its_column(kind: str, value: Any, shown: Any) -> None:
    assert cell(kind, value) == shown


def test_a_path_that_does_not_fit_leaves_its_cell_empty() -> None:
    assert cell("string", ["a"], ".spec.v[0]") == "a"
    assert cell("string", ["a"], ".spec.v[1]") is None
    assert cell("string", "text", ".spec.v[0]") is None
    assert cell("string", ["a", "b"], ".spec.v[*]") == "a"


def test_columns_end_before_the_first_that_can_not_be_read() -> None:
    columns = [
        {"name": name, "type": "string", "jsonPath": path}
        for name, path in (("A", ".a"), ("B", ".b["), ("C", ".c"))
    ]
    found = CustomStrategy({"name": "v1", "additionalPrinterColumns": columns}, {}).columns
    assert [column.name for column in found] == ["Name", "A"]


def test_a_finalizer_that_others_may_use_gives_a_warning() -> None:
    def warnings(new: list[str], *old: str) -> list[str]:
        before = {"metadata": {"finalizers": list(old)}} if old else None
        return strategy().warnings({"metadata": {"finalizers": new}}, before)

    [plain, dotted] = warnings(["plain", "example.com", "example.com/x", "orphan", "kubernetes"])
    assert plain.startswith('metadata.finalizers: "example.com": prefer a domain-qualified')
    assert "including a path (/)" in plain
    assert dotted.startswith('metadata.finalizers: "plain": prefer a domain-qualified')
    assert warnings(["plain"], "plain") == []
    assert strategy().metadata_checks.qualified_finalizers is False


def test_another_version_is_refused_after_its_fields_have_been_checked(widgets: Api) -> None:
    crd = widgets.get(f"{CRDS}/widgets.example.com")
    [version] = crd["spec"]["versions"]
    other = json.loads(json.dumps(version))
    other |= {"name": "v2", "storage": False}
    other["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {}
    widgets.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": [version, other]}})
    body = widget(size=1) | {"apiVersion": "example.com/v2", "metadata": {"name": "a"}}

    answer = widgets.call("POST", WIDGETS, body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "does not match the expected API version" in answer.body["message"]
    assert [text for text in answer.warnings if "spec.size" in text] != []
    strict = widgets.call("POST", WIDGETS, body, fieldValidation="Strict")
    assert 'unknown field "spec.size"' in strict.body["message"]


def _replace(value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": "/spec/free", "value": value}]


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        ("PUT", "application/json", lambda now, value: {**now, "spec": {"free": value}}),
        ("PATCH", MERGE_PATCH, lambda _, value: {"spec": {"free": value}}),
        ("PATCH", "application/json-patch+json", lambda _, value: _replace(value)),
        (
            "PATCH",
            "application/apply-patch+yaml",
            lambda _, value: widget(free=value) | {"metadata": {"name": "a"}},
        ),
    ],
    ids=["update", "merge", "json", "apply"],
)
@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (False, 0), ([1], [True]), ({"k": True}, {"k": 1})]
)
def test_true_is_another_value_than_1(
    api: Api, before: Any, after: Any, method: str, content_type: str, body: Any
) -> None:
    """In Python they are equal, so the change was lost."""
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    free = {"free": {"x-kubernetes-preserve-unknown-fields": True}}
    schema["properties"]["spec"] = {"type": "object", "properties": free}
    api.create(CRDS, definition)
    now = api.create(WIDGETS, widget(free=before) | {"metadata": {"name": "a"}})

    address = f"{WIDGETS}/a?fieldManager=m" + ("&force=true" if "apply" in content_type else "")
    changed = api.call(method, address, body(now, after), content_type)

    read = api.get(f"{WIDGETS}/a")
    assert changed.status == 200
    assert json.dumps(read["spec"]) == json.dumps({"free": after})
    assert read["metadata"]["generation"] == 2


def test_a_default_may_change_from_1_to_true(api: Api) -> None:
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    free = {"x-kubernetes-preserve-unknown-fields": True}
    schema["properties"]["spec"] = {"type": "object", "properties": {"free": free}}
    created = api.create(CRDS, definition)
    path = f"{CRDS}/{created['metadata']['name']}"
    api.create(WIDGETS, widget() | {"metadata": {"name": "before"}})

    place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/free/default"
    for default in (1, True):
        patch = [{"op": "add", "path": place, "value": default}]
        assert api.call("PATCH", path, patch, "application/json-patch+json").status == 200
        read = api.get(f"{WIDGETS}/before")["spec"]
        assert json.dumps(read) == json.dumps({"free": default})

    made = api.create(WIDGETS, widget() | {"metadata": {"name": "a"}})
    assert json.dumps(made["spec"]) == '{"free": true}'


def test_a_policy_may_change_1_to_true(api: Api) -> None:
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    free = {"free": {"x-kubernetes-preserve-unknown-fields": True}}
    schema["properties"]["spec"] = {"type": "object", "properties": free}
    api.create(CRDS, definition)
    patch = "[JSONPatch{op: 'replace', path: '/spec/free', value: true}]"
    matched = constraints("widgets", "example.com")
    install(api, MUTATING, mutating(patch=patch, matchConstraints=matched))

    made = api.create(WIDGETS, widget(free=1) | {"metadata": {"name": "a"}})

    assert json.dumps(made["spec"]) == '{"free": true}'


def test_data_that_is_immutable_may_not_change_from_1_to_true(api: Api) -> None:
    revision = {"metadata": {"name": "a"}, "revision": 1, "data": {"a": 1}}
    api.create(REVISIONS, revision)

    refused = api.call("PATCH", f"{REVISIONS}/a", {"data": {"a": True}}, MERGE_PATCH)

    assert refused.status == 422
    assert refused.body["details"]["causes"][0]["field"] == "data"


def test_the_items_of_a_set_may_be_deep(api: Api) -> None:
    """What is below 200 levels is compared as it is written."""
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    items = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    values = {"type": "array", "x-kubernetes-list-type": "set", "items": {**items}}
    items["x-kubernetes-map-type"] = values["items"]["x-kubernetes-map-type"] = "atomic"
    schema["properties"]["spec"] = {"type": "object", "properties": {"set": values}}
    api.create(CRDS, definition)
    deep: Any = 1
    for _ in range(300):
        deep = [deep]

    once = api.call("POST", WIDGETS, widget(set=[{"a": deep}]) | {"metadata": {"name": "a"}})
    twice = widget(set=[{"a": deep}, {"a": deep}]) | {"metadata": {"name": "b"}}
    refused = api.call("POST", WIDGETS, twice)

    assert (once.status, refused.status) == (201, 422)
    assert refused.body["details"]["causes"][0]["field"] == "spec.set[1]"
