"""The sample controller on the operator layer, under the faults that the low-level one survives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from clientgo.client import Client
from clientgo.operator import Manager
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator
from examples.foo_operator.reconciler import FooReconciler
from sample_controller.demo import running
from tests.e2e.conftest import World
from tests.e2e.test_disturbances import (  # noqa: F401 - the very same tests
    test_the_controller_goes_on_after_a_restart_that_lost_the_history,
    test_the_controller_goes_on_after_the_api_server_was_restarted,
)
from tests.e2e.test_faults import (  # noqa: F401 - the very same tests
    CONTROLLER,
    test_the_controller_converges_after_a_fault_is_lifted,
    test_the_controller_converges_under_a_fault,
)


@pytest.fixture
def world(server: EmbeddedAPIServer, client: Client) -> Iterator[World]:
    config = replace(load_config(str(server.kubeconfig)), qps=-1.0, user_agent=CONTROLLER)
    manager = Manager(Client(config), metrics="0", workers=2)
    manager.register(FooReconciler())
    with ExitStack() as stack:
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        stack.enter_context(manager)
        yield World.seen_by(client, server, stack)
