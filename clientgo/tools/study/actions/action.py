"""What an action of the page is: a button, and the plan that it makes when it is pressed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from clientgo.cache import SharedIndexInformer
from clientgo.client import Client
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import FailRequests
from clientgo.util.copies import CopyableError

AGENT: Final = "studied-controller"
"""The user agent of the studied controller, by which faults find it."""

CHANGE: Final = "Do something"
BREAK: Final = "Break something"


class NotPossibleError(CopyableError):
    """There is nothing that the action could change."""


@dataclass(frozen=True)
class Plan:
    """What an action is about to do: ``message`` is shown, and then ``do`` is called.

    The page counts what follows the ``edits`` of the object ``key``. From then on ``fault`` is
    active, and the page shows it as ``shown``; it ends when it has struck as often as it
    ``strikes``, or by a plan that ``heals``.
    """

    message: str
    do: Callable[[], object]
    key: str = ""
    edits: int = 0
    fault: str = ""
    shown: str = ""
    strikes: FailRequests | None = None
    heals: bool = False


class StudyCluster(Protocol):
    """What actions work on."""

    @property
    def server(self) -> EmbeddedAPIServer: ...

    @property
    def client(self) -> Client: ...

    def informers(self) -> Sequence[SharedIndexInformer[Any]]:
        """Return the informers of the studied controller."""


@dataclass(frozen=True)
class Action:
    """A button. ``plan`` gets the cluster and the key that the user has chosen, or "".

    It raises :class:`NotPossibleError`, and what a request raises; then nothing has changed.
    """

    name: str
    group: str
    label: str
    help: str
    plan: Callable[[StudyCluster, str], Plan]


def described(action: Action) -> dict[str, str]:
    """Return what the page needs for the button."""
    return {
        "name": action.name,
        "group": action.group,
        "label": action.label,
        "help": action.help,
    }
