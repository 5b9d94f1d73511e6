"""The same change of an object, sent in several ways, has the same answer."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.fuzz.objects import JUNK, OBJECTS
from tests.testcluster.server.http_api import MERGE_PATCH, Answer, Api

Object = dict[str, Any]
Path = tuple[str | int, ...]

CHANGES = 12
SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
STORED = [path for path in OBJECTS if not path.endswith(("reviews", "widgets"))]
KEPT = {
    *(("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")),
    *(("metadata", name) for name in SET_BY_SERVER),  # an update with another uid is a conflict
}
VALUES = [value for value in JUNK if "null" not in json.dumps(value)]
"""A merge patch can't set null."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all members of a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        yield (*path, key)
        if isinstance(member, dict | list):
            yield from places(member, (*path, key))


def changed(obj: Object, choice: random.Random) -> Object:
    """Return an object in which a value is removed, repeated or replaced."""
    result = copy.deepcopy(obj)
    where = choice.choice([path for path in places(obj) if path[:2] not in KEPT])
    holder: Any = result
    for key in where[:-1]:
        holder = holder[key]
    change = choice.choice(("remove", "repeat", "replace", "replace"))
    if change == "remove":
        del holder[where[-1]]
    elif change == "repeat" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[where[-1]]))
    else:
        holder[where[-1]] = copy.deepcopy(choice.choice(VALUES))
    return result


def merge_patch(old: Object, new: Object) -> Object:
    patch = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            patch |= {key: merge_patch(before, value)}
        elif key not in old or json.dumps(value) != json.dumps(before):
            patch |= {key: value}
    return patch


def json_patch(old: Object, new: Object) -> list[Object]:
    return [
        *({"op": "remove", "path": f"/{key}"} for key in old if key not in new),
        *({"op": "add", "path": f"/{key}", "value": value} for key, value in new.items()),
    ]


def shown(answer: Answer) -> Any:
    """Return what must be the same: the object, the causes of a refusal, or that it was refused."""
    if answer.status == 200:
        metadata = {k: v for k, v in answer.body["metadata"].items() if k not in SET_BY_SERVER}
        return {**answer.body, "metadata": metadata}
    if answer.status != 422:
        assert answer.status < 500, answer
        return "refused"
    causes = (answer.body.get("details") or {}).get("causes", ())
    found = sorted((cause.get("field", ""), cause["reason"]) for cause in causes)
    return "refused" if [field for field, _ in found] == ["patch"] else found


@pytest.mark.parametrize("collection", STORED)
def test_an_update_is_answered_as_the_patches_that_make_it(shared: Api, collection: str) -> None:
    created = shared.call("POST", collection, OBJECTS[collection] | {"metadata": {"name": "a"}})
    assert created.status == 201, created
    path = f"{collection}/a"
    for number in range(CHANGES):
        now = shared.get(path)
        wanted = changed(now, random.Random(f"{collection} {number}"))

        update = shown(shared.call("PUT", path, wanted, dryRun="All"))
        merged = shared.call("PATCH", path, merge_patch(now, wanted), MERGE_PATCH, dryRun="All")
        replaced = shared.call(
            "PATCH", path, json_patch(now, wanted), "application/json-patch+json", dryRun="All"
        )

        assert shown(merged) == update, wanted
        assert shown(replaced) == update, wanted
        assert shared.get(path) == now, "a dry run has changed it"
