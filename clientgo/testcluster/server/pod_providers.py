"""What a server without kubelets answers of running pods: logs and programs that others provide.

Promises that what was provided stays when the server starts again. Thread-safe.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

from clientgo.testcluster.server.cluster import Cluster
from clientgo.testcluster.server.containers.programs import PodPrograms
from clientgo.testcluster.server.objects.state import PodLogs
from clientgo.testcluster.server.storage.storage import object_key

T = TypeVar("T")


class PodProviders:
    """The methods of a server about what runs in pods."""

    _pod_logs: PodLogs | None = None
    _pod_programs: PodPrograms = PodPrograms()
    _cluster: Cluster

    def provide_logs(self, provider: PodLogs | None) -> None:
        """Let ``provider`` answer what containers have written; None: there are no logs.

        It is given a pod as JSON and the name of a container. It is called on the server's thread
        and must not block.
        """
        self._pod_logs = provider
        self._provide()

    def provide_programs(self, programs: PodPrograms) -> None:
        """Let functions answer what clients run in pods, attach to and connect to.

        ``PodPrograms()`` has none. Each stream calls its function in a thread of its own.
        """
        self._pod_programs = programs
        self._provide()

    def write_log(self, namespace: str, name: str, text: str, *, container: str = "") -> None:
        """Add lines to the log of a container, or of the only one of a pod.

        They follow what is provided, and reach those that follow the log.

        Raises:
            LookupError: there is no such pod.
        """

        def write() -> None:
            state = self._cluster.state
            stored = state.storage.collection(("", "pods")).get(object_key(namespace, name))
            if stored is None:
                raise LookupError(f"there is no pod {name} in namespace {namespace}")
            wanted = container or stored.decode()["spec"]["containers"][0]["name"]
            state.written_logs.append(stored.uid, wanted, text, state.now())

        self._call(write)

    def _provide(self) -> None:
        def provide() -> None:
            self._cluster.state.pod_logs = self._pod_logs
            self._cluster.state.pod_programs = self._pod_programs

        self._call(provide)

    @abstractmethod
    def _call(self, action: Callable[[], T]) -> T: ...
