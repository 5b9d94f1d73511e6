"""Quantities in built-in kinds are answered in their canonical form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api

CORE = "/api/v1/namespaces/default"


def _limits(cpu: Any) -> dict[str, Any]:
    container = {"name": "a", "image": "b", "resources": {"limits": {"cpu": cpu}}}
    return {"metadata": {"name": "a"}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(("sent", "answered"), [("0.5", "500m"), (1, "1"), (0.5, "500m")])
def test_a_limit_is_canonical(api: Api, sent: Any, answered: str) -> None:
    pod = api.create(f"{CORE}/pods", _limits(sent))

    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": answered}


def test_quantities_of_other_kinds_are_canonical_after_a_patch_too(api: Api) -> None:
    path = f"{CORE}/resourcequotas"
    quota = api.create(path, {"metadata": {"name": "a"}, "spec": {"hard": {"memory": "1024Mi"}}})
    patched = api.patch(f"{path}/a", {"spec": {"hard": {"pods": "1000"}}})

    assert quota["spec"]["hard"] == {"memory": "1Gi"}
    assert patched["spec"]["hard"] == {"memory": "1Gi", "pods": "1k"}


@pytest.mark.parametrize("sent", ["much", True, {}])
def test_a_bad_quantity_is_a_bad_request(api: Api, sent: Any) -> None:
    answer = api.call("POST", f"{CORE}/pods", _limits(sent))

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
