"""What updates of built-in kinds may change; the cases are in a file beside the recordings.

Upstream: the ``Validate...Update`` functions and the update strategies of each group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import MERGE_PATCH, Answer, Api

Object = dict[str, Any]

KINDS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "data/builtin_updates.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    """A server on which each case has an object of its own."""
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def patched(api: Api, address: str, change: Object) -> Answer:
    """Answer to one patch of a case."""
    path = "/".join(filter(None, (address, change.get("to"))))
    return api.call("PATCH", path, change["patch"], MERGE_PATCH)


def causes(answer: Answer) -> list[str]:
    """Return the sorted causes of a refusal; none if the patch is accepted."""
    if answer.status == 200:
        return []
    assert answer.status == 422, answer.body
    return sorted(
        f"{cause['field']}:{cause['reason'].removeprefix('FieldValue')}"
        for cause in answer.body["details"]["causes"]
    )


def differences(expected: Any, found: Any) -> list[Any]:
    """Return the parts of an object that are not as expected; others may be there."""
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return [] if expected == found else [found]
    if not expected:
        return [found] if found else []
    return [part for key, value in expected.items() for part in differences(value, found.get(key))]


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_is_answered_as_by_a_real_server(shared: Api, kind: str) -> None:
    case = KINDS[kind]
    for index, change in enumerate(case["cases"]):
        name = f"{kind.replace(' ', '-')}-{index}"
        shared.create(case["collection"], {"metadata": {"name": name}, **case["object"]})
        address = f"{case['collection']}/{name}"
        for earlier in change.get("after", ()):
            assert patched(shared, address, earlier).status == 200
        answer = patched(shared, address, change)
        assert causes(answer) == change.get("causes", []), change
        if "causes" not in change:
            assert not differences(change.get("shows", {"kind": answer.body["kind"]}), answer.body)


def test_a_write_to_finalize_tells_which_finalizer_is_none(shared: Api) -> None:
    namespace = shared.create("/api/v1/namespaces", {"metadata": {"name": "finalized"}})
    namespace["spec"]["finalizers"] = ["kubernetes", "bad"]

    answer = shared.call("PUT", "/api/v1/namespaces/finalized/finalize", namespace)

    assert causes(answer) == ["spec.finalizers[1]:Invalid"]
