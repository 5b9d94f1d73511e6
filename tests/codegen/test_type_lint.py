"""What reviewers would say, said before."""

from __future__ import annotations

from typing import Annotated

from clientgo.api.core_v1 import PodTemplateSpec
from clientgo.codegen.type_lint import findings
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import ListMap
from clientgo.operator.status import Condition, Conditioned


class Part(Model):
    weight: list[float] = []


class BadSpec(Model, rename={"snake_name": "snake_name"}):
    snake_name: str = ""
    paused: bool = False
    parts: dict[str, Part] = {}


class BadStatus(Model):
    conditions: list[Condition] = []


@resource(group="example.com", version="v1", plural="bads")
class Bad(Resource):
    spec: BadSpec = BadSpec()
    status: BadStatus


class GoodSpec(Model):
    some_name: str = ""
    paused: bool = False
    """Whether it rests."""
    template: PodTemplateSpec | None = None


class GoodStatus(Conditioned):
    more: Annotated[list[Condition], ListMap("type")] = []


@resource(group="example.com", version="v1", plural="goods")
class Good(Resource):
    spec: GoodSpec = GoodSpec()
    status: GoodStatus = GoodStatus()


def test_each_thing_that_the_conventions_advise_against_is_found_at_its_field() -> None:
    """OP-GEN-12"""
    assert {finding.field: finding.problem.split(",")[0] for finding in findings(Bad)} == {
        "Bad.status": "the status must be given",
        "Bad.spec.snake_name": "its name on the wire",
        "Bad.spec.paused": "a bool grows a third state sooner or later",
        "Bad.spec.parts.weight": "a float is rounded differently by every language that reads it",
        "Bad.status.conditions": "server-side apply replaces these conditions as a whole",
    }


def test_a_finding_says_what_to_write_instead() -> None:
    """OP-GEN-12"""
    conditions = next(found for found in findings(Bad) if found.field == "Bad.status.conditions")

    assert 'ListMap("type")' in str(conditions)


def test_there_is_nothing_against_types_that_keep_the_conventions_or_are_kubernetes_own() -> None:
    """OP-GEN-12: a bool that is explained, conditions that merge by type, a pod template."""
    assert findings(Good) == []
