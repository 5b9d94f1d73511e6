"""Definitions as large and as deep as those in clusters: a server takes them, types read them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.autoscaling_v2 import HorizontalPodAutoscaler
from clientgo.api.batch_v1 import CronJob
from clientgo.api.core_v1 import Node, Pod, Service
from clientgo.api.networking_v1 import Ingress
from clientgo.client import Client
from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.schemas.type_schema import resource_schema
from clientgo.codegen.type_sources import kind_of_crd
from clientgo.meta import APIResource, Resource, resource_of
from clientgo.testcluster.schema import SchemaError, StructuralSchema
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.codegen.declared_types import TYPES, class_types, kind_with
from tests.codegen.drawn_schemas import SCHEMAS, Schema
from tests.codegen.loading import typed
from tests.codegen.schema_essence import essence

_LARGE = settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        yield client


def _accepted(client: Client, kind: type[Resource]) -> Any:
    """What a server makes of the definition of a kind, which gets a name of its own."""
    declared, name = resource_of(kind), f"k{next(_numbers)}"
    definition = custom_resource_definition(kind)
    definition["metadata"]["name"] = f"{name}s.{declared.group}"
    definition["spec"]["names"] = {"kind": name.title(), "plural": f"{name}s", "singular": name}
    return client.resource(CustomResourceDefinition).create(definition).to_dict()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_server_accepts_the_definition_of_every_type(client: Client, data: st.DataObject) -> None:
    kind = kind_with(data.draw(class_types(TYPES)).type)

    stored = _accepted(client, kind)

    (version,) = stored["spec"]["versions"]
    assert version["schema"]["openAPIV3Schema"] == resource_schema(kind)


# -- hundreds of fields


def _nested(pool: list[Schema], size: int, depth: int, chance: random.Random) -> Schema:
    """An object of about so many fields, spread over objects, lists and mappings so deep."""
    properties: dict[str, Schema] = {}
    while size > 0:
        name = f"field{len(properties)}"
        inner = min(size, chance.randint(5, 60))
        if depth == 0 or inner < 10 or chance.random() < 0.5:
            properties[name] = chance.choice(pool)
            size -= 1
            continue
        child = _nested(pool, inner - 1, depth - 1, chance)
        wrapped: tuple[Schema, ...] = (
            child,
            {"type": "array", "items": child},
            {"type": "object", "additionalProperties": child},
        )
        properties[name] = chance.choice(wrapped)
        size -= inner
    return {"type": "object", "properties": properties}


def _drawn(data: st.DataObject) -> Schema:
    """The schema of a kind with hundreds of fields of a dozen sorts, up to nine objects deep."""
    drawn = data.draw(st.lists(SCHEMAS, min_size=5, max_size=12))
    pool = [{"type": "string"}, *filter(_is_allowed, drawn)]
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    size, depth = data.draw(st.integers(200, 600)), data.draw(st.integers(2, 9))
    return _of_spec(_nested(pool, size, depth, chance))


def _is_allowed(schema: Schema) -> bool:
    try:
        StructuralSchema.parse(_of_spec(schema))
    except SchemaError:  # a default that does not fit, or a keyword where it must not be
        return False
    return True


def _of_spec(spec: Schema) -> Schema:
    return {"type": "object", "properties": {"spec": spec}}


def _count(schema: Any) -> int:
    """How many fields there are, at every depth."""
    if not isinstance(schema, dict):
        return 0
    inner = (schema.get("items"), schema.get("additionalProperties"))
    members = schema.get("properties", {}).values()
    return len(members) + sum(map(_count, (*inner, *members)))


@_LARGE
@given(data=st.data())
def test_a_definition_of_hundreds_of_fields_survives_the_way_to_types_and_through_a_server(
    client: Client, data: st.DataObject
) -> None:
    root = _drawn(data)
    assert _count(root) > 200

    stored = _accepted(client, typed(root))
    again = resource_schema(typed(kind_of_crd(stored).schema))  # type: ignore[arg-type]

    assert essence(again) == essence(root)


@pytest.mark.parametrize(
    "kind",
    [CronJob, HorizontalPodAutoscaler, Ingress, Node, Service],
    ids=lambda kind: kind.__name__,
)
def test_a_definition_around_a_built_in_kind_is_accepted_and_typed(
    client: Client, kind: type[Resource]
) -> None:
    """As workflows and rollouts do with a pod or a job."""
    root = _of_spec({"type": "object", "properties": {"template": resource_schema(kind)}})

    stored = _accepted(client, typed(root))
    again = resource_schema(typed(kind_of_crd(stored).schema))  # type: ignore[arg-type]

    assert essence(again) == essence(root)


def test_types_of_a_pods_size_read_what_a_server_stores(client: Client) -> None:
    root = _of_spec(resource_schema(Pod)["properties"]["spec"])
    resource = APIResource(group="example.com", version="v1", kind="Big", plural="bigs")
    big = typed(root, resource)
    client.resource(CustomResourceDefinition).create(custom_resource_definition(big))
    probe = {"httpGet": {"port": "http", "httpHeaders": [{"name": "a", "value": "b"}]}}
    pod = {"containers": [{"name": "c", "image": "i", "livenessProbe": probe}]}

    stored = (
        client.resource(big).namespace("default").create({"metadata": {"name": "a"}, "spec": pod})
    )

    assert _count(root) > 400
    (container,) = stored.spec.containers
    assert container.liveness_probe.http_get.port == "http"
    assert stored.to_dict()["spec"] == pod
