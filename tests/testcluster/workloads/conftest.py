from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.testcluster.workloads.still_cluster import StillCluster


@pytest.fixture
def new_cluster() -> Iterator[Callable[..., StillCluster]]:
    """Makes clusters, and closes them."""
    with ExitStack() as stack:

        def make(*rules: Any, **settings: Any) -> StillCluster:
            cluster = StillCluster(rules, **settings)
            stack.callback(cluster.close)
            return cluster

        yield make


@pytest.fixture
def cluster(new_cluster: Callable[..., StillCluster]) -> StillCluster:
    return new_cluster()
