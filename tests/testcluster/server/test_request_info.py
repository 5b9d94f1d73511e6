"""The parts of request paths."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server.requests.request_info import RequestInfo, parse_path


@pytest.mark.parametrize(
    ("path", "info"),
    [
        ("/api/v1/pods", RequestInfo("", "v1", "pods")),
        ("/api/v1/namespaces", RequestInfo("", "v1", "namespaces")),
        ("/api/v1/namespaces/n", RequestInfo("", "v1", "namespaces", "", "n")),
        ("/api/v1/namespaces/n/status", RequestInfo("", "v1", "namespaces", "", "n", "status")),
        ("/api/v1/namespaces/n/pods", RequestInfo("", "v1", "pods", "n")),
        ("/api/v1/namespaces/n/pods/p", RequestInfo("", "v1", "pods", "n", "p")),
        ("/api/v1/namespaces/n/pods/p/log", RequestInfo("", "v1", "pods", "n", "p", "log")),
        ("/apis/g/v1/namespaces/n/rs/r/status", RequestInfo("g", "v1", "rs", "n", "r", "status")),
        ("/apis/g/v1/rs/r", RequestInfo("g", "v1", "rs", "", "r")),
    ],
)
def test_a_resource_path_is_taken_apart(path: str, info: RequestInfo) -> None:
    assert parse_path(path) == info


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/healthz"])
def test_other_paths_are_none(path: str) -> None:
    assert parse_path(path) is None
