"""The ways in which a controller's life is disturbed, around one of its writes.

When a function of the table is called, the API server holds the write: it has not happened yet. The
function says how the world goes on.

The three patterns behind it (intermediate, stale and unobserved states) are those of Sieve,
"Automatic Reliability Testing for Cluster Management Controllers", OSDI 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from clientgo.testcluster.server.faults import (
    CloseWatches,
    ExpireHistory,
    FailRequests,
    FreezeWatches,
    Requests,
    StaleLists,
)
from clientgo.testing.perturb.trial import Trial
from clientgo.testing.perturb.writes import Write

Perturbation: TypeAlias = Callable[[Trial], None]


def crash_before(trial: Trial) -> None:
    """The process ends before the write."""
    trial.fence()
    trial.release()
    trial.next_life()


def crash_after(trial: Trial) -> None:
    """The process ends after the write, before it learns of its success."""
    trial.lose_answer()
    trial.fence()
    trial.release()
    trial.next_life()


def lost_answer(trial: Trial) -> None:
    """The write happens, but its answer is lost."""
    trial.lose_answer()
    trial.release()


def refused(trial: Trial) -> None:
    """The API server fails, and the write does not happen."""
    trial.server.inject(FailRequests(requests=trial.write.requests, status=500))
    trial.release()


def conflict(trial: Trial) -> None:
    """Another client has changed the object."""
    trial.server.inject(FailRequests(requests=trial.write.requests, status=409))
    trial.release()


def stale_restart(trial: Trial) -> None:
    """The process restarts, and finds a server that does not know of the write yet."""
    lagging = StaleLists(requests=Requests(user_agent=trial.agent_of_next_life))
    trial.server.inject(lagging)
    trial.lose_answer()
    trial.fence()
    trial.release()
    trial.next_life()
    trial.settle()
    trial.server.lift(lagging)


def stale_cache(trial: Trial) -> None:
    """The caches go back in time: they reconnect to a server that does not know of the write."""
    mine = Requests(user_agent=trial.agent)
    watches = Requests(verbs=("watch",), user_agent=trial.agent)
    lagging = StaleLists(requests=mine)
    trial.server.inject(lagging)
    trial.release()
    trial.settle()
    trial.server.inject(
        FailRequests(requests=watches, status=410, times=trial.watched_resources() or 1)
    )
    trial.server.inject(CloseWatches(requests=watches))
    trial.settle()
    trial.server.lift(lagging)


def lagging_cache(trial: Trial) -> None:
    """The event of the write comes late; meanwhile the objects of the user cause more syncs."""
    written = trial.write.resource.partition("/")[0]
    watches = Requests(verbs=("watch",), resource=written, user_agent=trial.agent)
    frozen = FreezeWatches(requests=watches)
    trial.server.inject(frozen)
    trial.release()
    trial.settle()
    trial.touch()
    trial.settle()
    trial.server.lift(frozen)


def unobserved(trial: Trial) -> None:
    """While no event arrives, what the user created changes, and changes back."""
    watches = Requests(verbs=("watch",), user_agent=trial.agent)
    frozen = FreezeWatches(requests=watches)
    trial.server.inject(frozen)
    trial.release()
    trial.settle()
    trial.change_and_revert()
    trial.server.inject(CloseWatches(requests=watches, abruptly=True))
    trial.server.inject(ExpireHistory())
    trial.server.lift(frozen)


def lost_leadership(trial: Trial) -> None:
    """Another candidate takes the Lease; the controller restarts when that one is gone."""
    trial.take_leases()
    trial.release()
    trial.settle()
    trial.next_life()


PERTURBATIONS: Final[Mapping[str, Perturbation]] = {
    "crash-before": crash_before,
    "crash-after": crash_after,
    "lost-answer": lost_answer,
    "refused": refused,
    "conflict": conflict,
    "stale-restart": stale_restart,
    "stale-cache": stale_cache,
    "lagging-cache": lagging_cache,
    "unobserved": unobserved,
    "lost-leadership": lost_leadership,
}
"""By the name that reports and ``only`` use."""


def applies(name: str, write: Write, *, elects: bool) -> bool:
    """Return True if a perturbation can happen to a write."""
    if name == "conflict":
        return write.verb in ("update", "patch")
    return name != "lost-leadership" or elects
