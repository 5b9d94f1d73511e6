"""What a real API server refuses in built-in kinds; the cases are in a file beside the recordings.

Upstream: the ``validation.go`` of each group.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import Api

Object = dict[str, Any]

KINDS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "data/builtin_causes.yaml").read_text(encoding="utf-8")
)
CASES = [
    pytest.param(kind, change, id=f"{kind} {change['at']}={change.get('to')}")
    for kind, of_kind in KINDS.items()
    for change in of_kind["changes"]
]


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    """A server on which the tests create nothing."""
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def changed(obj: Object, change: Object) -> Object:
    """Return a copy of an object with another value at a place."""
    result = copy.deepcopy(obj)
    inner: Any = result
    *parents, last = (int(step) if step.isdigit() else step for step in change["at"].split("."))
    for step in parents:
        inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
    if "to" in change:
        inner[last] = change["to"]
    else:
        del inner[last]
    return result


def causes(api: Api, collection: str, body: Object) -> list[str]:
    """Return the sorted causes of a refusal; none if the object is accepted."""
    answer = api.call("POST", collection, {"metadata": {"name": "a"}, **body}, dryRun="All")
    if answer.status == 201:
        return []
    assert answer.status == 422, answer.body
    return sorted(
        f"{cause['field']}:{cause['reason'].removeprefix('FieldValue')}"
        for cause in answer.body["details"]["causes"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_unchanged_object_is_accepted(shared: Api, kind: str) -> None:
    assert causes(shared, KINDS[kind]["collection"], KINDS[kind]["valid"]) == []


@pytest.mark.parametrize(("kind", "change"), CASES)
def test_a_change_has_the_causes_of_a_real_server(shared: Api, kind: str, change: Object) -> None:
    of_kind = KINDS[kind]
    found = causes(shared, of_kind["collection"], changed(of_kind["valid"], change))
    assert found == sorted(change["causes"])
