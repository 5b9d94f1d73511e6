"""The buttons for a resync, and for faults of the API server, with any controller."""

from __future__ import annotations

from typing import Final

from clientgo.api.core_v1 import Namespace
from clientgo.testcluster.server.faults import (
    WRITES,
    CloseWatches,
    ExpireHistory,
    FailRequests,
    FreezeWatches,
    Requests,
)
from clientgo.tools.study.actions.action import AGENT, BREAK, CHANGE, Action, Plan, StudyCluster
from clientgo.tools.study.actions.changes import NAMESPACE, touch

_EVERYTHING: Final = Requests(user_agent=AGENT)
# An event that is refused is lost, and no sync fails.
_ITS_REQUESTS: Final = Requests(user_agent=AGENT, other_than="events")
_ITS_WRITES: Final = Requests(verbs=WRITES, user_agent=AGENT, other_than="events")
_ITS_UPDATES: Final = Requests(verbs=("update", "patch"), user_agent=AGENT, other_than="events")
_CUT: Final = CloseWatches(requests=_EVERYTHING, abruptly=True)
_FREEZE: Final = FreezeWatches(requests=_EVERYTHING)


def common_actions() -> list[Action]:
    """Return the buttons for a resync, and for faults of the API server."""
    return [
        Action(
            "resync",
            CHANGE,
            "Resync",
            "Each informer calls its handlers again for every object in its cache, as it does when "
            "the resync period ends. It asks nothing of the API server.",
            _resync,
        ),
        Action(
            "cut-watch",
            BREAK,
            "Cut the watches",
            "The connections break. Each reflector opens a new watch at the last version that it "
            "has seen, so nothing is lost.",
            _cut,
        ),
        Action(
            "freeze-watch",
            BREAK,
            "Freeze the watches",
            "The connections stay open and silent. The cache becomes stale and nothing shows it. "
            "Heal ends it.",
            _freeze,
        ),
        Action(
            "expire",
            BREAK,
            "Expire history",
            "The server forgets old versions and the watches break. A reflector that comes back "
            "with an old version gets 410 Gone and lists again.",
            _expire,
        ),
        _failing(409, "Conflict", _ITS_UPDATES, "update"),
        _failing(429, "Too Many Requests", _ITS_REQUESTS, "request"),
        _failing(500, "Internal Server Error", _ITS_WRITES, "write"),
        Action(
            "restart",
            BREAK,
            "Restart server",
            "All connections break; the objects stay. Reflectors retry with a back-off until the "
            "server is there again.",
            _restart,
        ),
        Action(
            "heal",
            BREAK,
            "Heal",
            "Ends every fault that is still active.",
            _heal,
        ),
    ]


def _resync(cluster: StudyCluster, _: str) -> Plan:
    def do() -> None:
        for informer in cluster.informers():
            informer.resync()

    return Plan("you ask for a resync", do)


def _cut(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you cut the watches", lambda: cluster.server.inject(_CUT))


def _freeze(cluster: StudyCluster, _: str) -> Plan:
    return Plan(
        "you freeze the watches until you heal them",
        lambda: cluster.server.inject(_FREEZE),
        fault="freeze",
        shown="watches frozen",
    )


def _expire(cluster: StudyCluster, _: str) -> Plan:
    def do() -> None:
        # A write of something else, so that the last version that a reflector has seen is an old
        # one.
        touch(cluster.client.resource(Namespace), NAMESPACE)
        cluster.server.inject(ExpireHistory())
        cluster.server.inject(_CUT)

    return Plan("you let the API server forget its history, and cut the watches", do)


def _restart(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you restart the API server", cluster.server.restart)


def _heal(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you end all faults", cluster.server.lift, heals=True)


def _failing(status: int, reason: str, requests: Requests, what: str) -> Action:
    fault = FailRequests(status=status, requests=requests, retry_after=1 if status == 429 else None)
    help_text = {
        409: "The object has changed since it was read: the sync fails and the key is retried. "
        "Its second try reads the newer object from the cache.",
        429: "The server asks the controller to wait a second. The client does so and repeats the "
        "request; the sync only takes longer.",
        500: "The write is refused. The sync fails and its key is retried with a back-off.",
    }[status]

    def plan(cluster: StudyCluster, _: str) -> Plan:
        return Plan(
            f"you let the API server answer the next {what} {status} {reason}",
            lambda: cluster.server.inject(fault),
            fault=str(status),
            shown=f"{status} next {what}",
            strikes=fault,
        )

    return Action(f"answer-{status}", BREAK, f"Answer {status}", help_text, plan)
