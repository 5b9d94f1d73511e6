"""The manager: what controllers share, from the start of the process to its end.

::

    settings ──► Manager ──► caches, servers, leadership, controllers, runnables
                    └──────► Cluster: another API server, with a client and caches of its own
"""

from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.config import LeaderElection, ManagerConfig, ManagerSettings
from clientgo.operator.manager.manager import Manager

__all__ = ["Cluster", "LeaderElection", "Manager", "ManagerConfig", "ManagerSettings"]
