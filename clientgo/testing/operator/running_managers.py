"""Running a manager for the length of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.operator.manager import Manager
from clientgo.testing.operator.fake_cluster import FakeCluster


@contextmanager
def running(
    manager: Manager | Callable[..., Manager], cluster: FakeCluster, **settings: Any
) -> Iterator[Manager]:
    """Start a manager, with all its threads, and stop it at the end of the block.

    A function that makes one, as that of a generated project, is called with the cluster's client
    and clock, without servers, and with ``settings``; a manager has to be made with
    ``cluster.operator_client()``. Raises what the manager failed with, in the block or at its end.
    """
    if not isinstance(manager, Manager):
        given = {"metrics": "0", "health": "0", "clock": cluster.clock, **settings}
        manager = manager(cluster.operator_client(), **given)
    with manager:
        yield manager
