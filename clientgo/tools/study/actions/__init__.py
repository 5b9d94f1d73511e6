"""What the buttons of the page do.

Each action is a small change of the cluster, or a fault of the server that strikes the studied
controller only. It is planned first, so that the page can name it before its first effect.
"""

from clientgo.tools.study.actions.action import (
    AGENT,
    Action,
    NotPossibleError,
    Plan,
    StudyCluster,
    described,
)
from clientgo.tools.study.actions.changes import objects_of

__all__ = [
    "AGENT",
    "Action",
    "NotPossibleError",
    "Plan",
    "StudyCluster",
    "described",
    "objects_of",
]
