"""Fixtures that pytest offers wherever clientgo is installed.

- ``kube_api_server``: an embedded API server, a new and empty one for each test;
- ``kube_client``: a client of it, without a limit on requests;
- ``rbac_server``: such a server with RBAC, and clients that are service accounts; the test fails
  with what their roles do not allow;
- ``workloads``: simulated workloads on ``kube_api_server``, so that pods become ready;
- ``fake_cluster``: such a server with its objects by kind, for operators;
- ``operator_metrics``: gives a manager a provider of metrics, and the test their values;
- ``operator_logs``: what was logged, with the fields of the run that it is from.

Promises: a test that does not ask for them pays for nothing; the server is imported on first use.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from clientgo.client import Client
    from clientgo.testcluster.server import EmbeddedAPIServer
    from clientgo.testcluster.workloads import WorkloadSimulator
    from clientgo.testing.operator.captures import LogCapture, MetricCapture
    from clientgo.testing.operator.fake_cluster import FakeCluster
    from clientgo.testing.rbac_server import RBACServer


@pytest.fixture
def kube_api_server() -> Iterator[EmbeddedAPIServer]:
    """An API server in this process; ``inject`` makes it misbehave."""
    from clientgo.testcluster.server import EmbeddedAPIServer

    with EmbeddedAPIServer() as server:
        yield server


@pytest.fixture
def kube_client(kube_api_server: EmbeddedAPIServer) -> Iterator[Client]:
    """A client of ``kube_api_server``."""
    from clientgo.client import Client
    from clientgo.rest import RestConfig

    with Client(RestConfig(server=kube_api_server.url)) as client:
        yield client


@pytest.fixture
def rbac_server() -> Iterator[RBACServer]:
    """An API server with RBAC; the test fails with the rules that a client would have needed."""
    from clientgo.testing.rbac_server import RBACServer

    with RBACServer() as server:
        yield server
        server.check()


@pytest.fixture
def workloads(kube_api_server: EmbeddedAPIServer) -> Iterator[WorkloadSimulator]:
    """Simulated controllers, scheduler and kubelets for ``kube_api_server``."""
    from clientgo.testcluster.workloads import simulate

    with simulate(kube_api_server) as simulator:
        yield simulator


@pytest.fixture
def fake_cluster() -> Iterator[FakeCluster]:
    """An API server in this process with nothing in it; see ``clientgo.testing.operator``."""
    from clientgo.testing.operator.fake_cluster import FakeCluster

    with FakeCluster() as cluster:
        yield cluster


@pytest.fixture
def operator_metrics() -> MetricCapture:
    """``metrics_provider=operator_metrics.provider`` for the manager, ``.value(name)`` for you."""
    from clientgo.testing.operator.captures import MetricCapture

    return MetricCapture()


@pytest.fixture
def operator_logs() -> Iterator[LogCapture]:
    """All that ``clientgo`` logs during the test, and what reconcilers log with ``ctx.log``."""
    from clientgo.testing.operator.captures import LogCapture

    capture, logger = LogCapture(), logging.getLogger("clientgo")
    level = logger.level
    logger.addHandler(capture)
    logger.setLevel(logging.DEBUG)
    yield capture
    logger.setLevel(level)
    logger.removeHandler(capture)
