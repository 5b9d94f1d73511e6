"""Faults of the server in lessons, with what the page says about them."""

from __future__ import annotations

from dataclasses import dataclass

from clientgo.testcluster.server.faults import Fault, HoldRequests, Requests
from clientgo.tools.study.actions import AGENT


@dataclass(frozen=True, slots=True)
class LessonFault:
    """A fault that is lifted later. The picture has ``shown`` until then.

    ``begins`` and ``ends`` are what the page says when the fault is injected and lifted.
    """

    fault: Fault
    begins: str
    ends: str
    shown: str


def slow_server(verb: str) -> LessonFault:
    """Return a fault by which the controller waits for the answer to a write of a Deployment."""
    requests = Requests(verbs=(verb,), resource="deployments", user_agent=AGENT)
    return LessonFault(
        HoldRequests(requests=requests), "the server is slow", "the server answers", "slow answers"
    )


def network_down(of: str) -> LessonFault:
    """Return a fault by which no watch of a kind opens."""
    return LessonFault(
        HoldRequests(requests=watches_of(of), times=None),
        "the network is down",
        "the network is back",
        "network down",
    )


def watches_of(kind: str) -> Requests:
    """Return the controller's watches of a kind of the lessons."""
    return Requests(verbs=("watch",), resource=f"{kind.lower()}s", user_agent=AGENT)
