"""The sample controller on the operator layer passes the tests of the low-level one (BP-31)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clientgo.client import Client
from clientgo.operator import Manager
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator
from examples.foo_operator.reconciler import FooReconciler
from sample_controller.demo import running
from tests.e2e.conftest import World
from tests.e2e.test_sample_controller import *  # noqa: F403 - the very same tests


@pytest.fixture
def world(server: EmbeddedAPIServer, client: Client, workers: int) -> Iterator[World]:
    manager = Manager(client, metrics="0", workers=workers, close_client_on_stop=False)
    manager.register(FooReconciler())
    with ExitStack() as stack:
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        stack.enter_context(manager)
        yield World.seen_by(client, server, stack)
