"""Tools for testing operators: one run without threads, or a whole manager on an API server.

::

    run_once(reconciler, obj, world=[...])      one run, in this thread, against an API server
                                                without threads or sockets
    FakeCluster + running(manager, cluster)     everything as it is, and faults on command

Names are imported when they are first used, so that a test pays for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.testing.operator.conversion_fuzz import roundtrip
    from clientgo.testing.operator.fake_cluster import FakeCluster
    from clientgo.testing.operator.run_record import RunRecord
    from clientgo.testing.operator.running_managers import running
    from clientgo.testing.operator.single_runs import replay, run_once
    from clientgo.testing.operator.stability import assert_stable
    from clientgo.testing.operator.waiting import consistently, eventually

__all__ = [
    # one run
    "run_once",
    "replay",
    "RunRecord",
    # a manager
    "FakeCluster",
    "running",
    "eventually",
    "consistently",
    "assert_stable",
    # versions
    "roundtrip",
]

_HOMES = {
    "run_once": "clientgo.testing.operator.single_runs",
    "replay": "clientgo.testing.operator.single_runs",
    "RunRecord": "clientgo.testing.operator.run_record",
    "FakeCluster": "clientgo.testing.operator.fake_cluster",
    "running": "clientgo.testing.operator.running_managers",
    "eventually": "clientgo.testing.operator.waiting",
    "consistently": "clientgo.testing.operator.waiting",
    "assert_stable": "clientgo.testing.operator.stability",
    "roundtrip": "clientgo.testing.operator.conversion_fuzz",
}
"""Where each public name lives; never a module of the same name, which would take its place."""


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
