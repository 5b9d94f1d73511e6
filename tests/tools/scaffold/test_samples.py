"""Samples are the least that a kind's schema allows."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import Format, Rule, marked
from clientgo.tools.scaffold.manifests.samples import sample


class Port(Model):
    number: Annotated[int, Meta(ge=1024)]


class DemandingSpec(Model):
    name: Annotated[str, Meta(min_length=10)]
    short: Annotated[str, Meta(max_length=3)]
    colour: Literal["red", "green"]
    ports: Annotated[list[Port], Meta(min_length=2)]
    since: Annotated[str, Format("date-time")]
    above: Annotated[int, Meta(gt=4)]
    odd: Annotated[int, Meta(gt=4, multiple_of=5)]
    share: Annotated[int, Meta(le=0)]
    either: int | str
    on: bool
    free: str = ""


@resource(group="example.com", version="v1", plural="demandings")
class Demanding(Resource):
    spec: DemandingSpec


@marked(Rule("self.low < self.high"))
class RuledSpec(Model):
    low: int
    high: int
    code: Annotated[str, Meta(pattern="^[0-9]{4}$")]


class PatternedSpec(Model):
    word: Annotated[str, Meta(pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$")]
    code: Annotated[str, Meta(pattern="^[0-9]{4}$")]
    size: Annotated[str, Meta(pattern="^[1-9][0-9]*(Mi|Gi)$")]
    zones: Annotated[list[Annotated[str, Meta(pattern="^(eu|us)-[a-c]$")]], Meta(min_length=1)]
    long: Annotated[str, Meta(pattern="^x[a-f]+$", min_length=20, max_length=22)]
    free: str


@resource(group="example.com", version="v1", plural="patterneds")
class Patterned(Resource):
    spec: PatternedSpec


@resource(group="example.com", version="v1", plural="ruleds", namespaced=False)
class Ruled(Resource):
    spec: RuledSpec


def test_everything_that_must_be_given_is_and_nothing_else() -> None:
    """OP-GEN-19"""
    made = sample(Demanding)

    assert made.problems == ()
    assert made.manifest == {
        "apiVersion": "example.com/v1",
        "kind": "Demanding",
        "metadata": {"name": "demanding-sample", "namespace": "default"},
        "spec": {
            "name": "examplexxx",
            "short": "exa",
            "colour": "red",
            "ports": [{"number": 1024}, {"number": 1024}],
            "since": "2026-01-01T00:00:00Z",
            "above": 5,
            "odd": 5,
            "share": 0,
            "either": 1,
            "on": False,
        },
    }


def test_what_cannot_be_guessed_is_said() -> None:
    """OP-GEN-19: a rule is for people to meet."""
    made = sample(Ruled)

    assert "namespace" not in made.manifest["metadata"]
    (problem,) = made.problems
    assert "self.low < self.high" in problem


def test_patterns_are_met() -> None:
    """OP-GEN-19"""
    made = sample(Patterned)

    assert made.problems == ()
    assert made == sample(Patterned)
    spec = made.manifest["spec"]
    assert spec["word"] == "example"
    assert 20 <= len(spec["long"]) <= 22
