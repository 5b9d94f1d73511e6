"""Who may read metrics that are served securely, and what the API server is asked for that."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.observe.serving import Request, Response
from clientgo.operator import Manager
from clientgo.operator.manager.metrics_access import MetricsAccess
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.testcluster.server.requests import reviews
from tests.operator.pages import ask
from tests.operator.world import World


def constant(status: dict[str, Any]) -> Callable[[Any, Any], dict[str, Any]]:
    return lambda _call, _spec: status


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what the API server answers from now on."""

    def decide(*, known: bool, allowed: bool) -> None:
        statuses: dict[tuple[str, str], dict[str, Any]] = {
            ("authentication.k8s.io", "tokenreviews"): {
                "authenticated": known,
                "user": {"username": "me"} if known else {},
            },
            ("authorization.k8s.io", "subjectaccessreviews"): {"allowed": allowed},
        }
        for name, status in statuses.items():
            monkeypatch.setitem(reviews.ANSWERED, name, reviews.review_verb(constant(status)))

    return decide


@pytest.fixture
def read(world: World) -> Any:
    """Reads ``/metrics`` with a token; returns the status."""
    access = MetricsAccess(world.client, world.clock)
    page = access.guarded(lambda _request: Response(200, b"numbers"))

    def read(token: str = "t") -> int:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return page(Request("/metrics", headers=headers)).status

    yield read
    access.close()


def test_only_who_is_known_and_may_is_shown_anything(
    read: Callable[..., int], decided: Callable[..., None]
) -> None:
    """OP-MET-12"""
    decided(known=True, allowed=True)
    assert (read("a"), read("")) == (200, 401)
    decided(known=False, allowed=True)
    assert read("b") == 401


@pytest.mark.parametrize(
    ("first", "then", "holds", "before", "after"),
    [
        ({"known": True, "allowed": True}, {"known": False, "allowed": True}, 60, 200, 401),
        ({"known": False, "allowed": True}, {"known": True, "allowed": True}, 60, 401, 200),
        ({"known": True, "allowed": False}, {"known": True, "allowed": True}, 30, 403, 200),
        ({"known": True, "allowed": True}, {"known": True, "allowed": False}, 300, 200, 403),
    ],
)
def test_an_answer_holds_for_its_time(
    world: World,
    read: Callable[..., int],
    decided: Callable[..., None],
    first: dict[str, bool],
    then: dict[str, bool],
    holds: float,
    before: int,
    after: int,
) -> None:
    """OP-MET-12"""
    decided(**first)
    assert read() == before
    decided(**then)
    world.clock.step(holds - 1)
    assert read() == before
    world.clock.step(1)
    assert read() == after


def test_without_an_answer_nothing_is_shown(world: World, read: Callable[..., int]) -> None:
    """OP-MET-12"""
    refused = Requests(resource="tokenreviews")
    world.server.inject(FailRequests(requests=refused, times=None, status=403))
    assert read() == 500


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_a_manager_serves_its_metrics_over_tls(decided: Callable[..., None]) -> None:
    """OP-MET-12: with a certificate of its own unless it is given one."""
    decided(known=True, allowed=True)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with EmbeddedAPIServer() as server:
        manager = Manager(server.url, metrics="127.0.0.1:0", secure_metrics=True)
        with manager:
            url = f"{manager.bound.metrics}/metrics"
            assert url.startswith("https://")
            assert ask(url, context=anybody)[0] == 401
            status, page = ask(url, {"authorization": "Bearer t"}, anybody)
    assert (status, "rest_client_requests_total" in page) == (200, True)
