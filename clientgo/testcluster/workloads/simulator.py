"""The simulator: one manager that runs all the controllers.

Promises that objects it finds at its start are taken up where they are, that it writes nothing but
the leases of nodes once everything has settled, and that all of its threads have ended when a stop
returns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

from clientgo.api.apps_v1 import ControllerRevision, ReplicaSet
from clientgo.api.batch_v1 import Job
from clientgo.api.core_v1 import Endpoints, Pod
from clientgo.api.discovery_v1 import EndpointSlice
from clientgo.client import Client
from clientgo.operator import CacheScope, Manager
from clientgo.rest import rest_config_of
from clientgo.testcluster.server import EmbeddedAPIServer, PodPrograms
from clientgo.testcluster.workloads.cluster.autoscalers import Autoscalers
from clientgo.testcluster.workloads.cluster.certificate_requests import CertificateRequests
from clientgo.testcluster.workloads.cluster.disruption_budgets import DisruptionBudgets
from clientgo.testcluster.workloads.cluster.endpoint_mirrors import EndpointMirrors
from clientgo.testcluster.workloads.cluster.endpoint_slices import EndpointSlices
from clientgo.testcluster.workloads.cluster.endpoints import EndpointsOfServices
from clientgo.testcluster.workloads.cluster.nodes import BY_NODE, Nodes, create_nodes, node_of
from clientgo.testcluster.workloads.cluster.scheduler import Scheduler
from clientgo.testcluster.workloads.cluster.volumes import VolumeProtection, Volumes
from clientgo.testcluster.workloads.controllers.cron_jobs import CronJobs
from clientgo.testcluster.workloads.controllers.daemon_sets import DaemonSets
from clientgo.testcluster.workloads.controllers.deployments import Deployments
from clientgo.testcluster.workloads.controllers.jobs import Jobs
from clientgo.testcluster.workloads.controllers.owner import OWNER, owner_uid
from clientgo.testcluster.workloads.controllers.replica_sets import (
    ReplicaSets,
    ReplicationControllers,
)
from clientgo.testcluster.workloads.controllers.stateful_sets import StatefulSets
from clientgo.testcluster.workloads.pods.files import MountedFiles
from clientgo.testcluster.workloads.pods.kubelet import Kubelet, PodAddresses
from clientgo.testcluster.workloads.pods.lifecycle import Lifecycle
from clientgo.testcluster.workloads.pods.logs import log_of
from clientgo.testcluster.workloads.pods.programs import simulated_programs
from clientgo.testcluster.workloads.pods.stages import Rule, Rules, load_rules
from clientgo.testcluster.workloads.randomness import Randomness
from clientgo.util.certificates import KeyPair
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import ForkAwareContext

_OWNED = (Pod, ReplicaSet, ControllerRevision, Job, EndpointSlice, Endpoints)

Stages = Path | str | Sequence[Rule] | None
"""A file of rules, the text of one, or rules."""


@uncopyable("it has threads; make one in each process")
class WorkloadSimulator(ForkAwareContext):
    """Stands in for kube-controller-manager, kube-scheduler and the kubelets. Used once.

    ``cluster`` is a client or what :class:`~clientgo.client.Client` takes. ``nodes`` is how many
    nodes are created, if they do not exist. ``stages`` says how pods live, see
    :mod:`clientgo.testcluster.workloads.pods.stages`; ``seed`` decides what looks random.
    ``authority`` signs the requests for certificates; without one, the simulator makes its own.

    Raises :class:`~clientgo.operator.errors.ConfigError` for wrong stages.
    """

    def __init__(
        self,
        cluster: Any = None,
        *,
        nodes: int = 3,
        stages: Stages = None,
        seed: int = 0,
        clock: Clock = REAL_CLOCK,
        authority: KeyPair | None = None,
    ) -> None:
        self._rules = rules = Rules(
            load_rules(stages) if stages is None or isinstance(stages, Path | str) else stages
        )
        config = cluster.config if isinstance(cluster, Client) else rest_config_of(cluster)
        config = replace(config, warning_handler=_ignore)  # Endpoints are deprecated
        self._nodes = nodes
        self._client = Client(config)
        self._manager = Manager(
            self._client,
            name="workloads",
            metrics="0",
            cache=CacheScope(copy="shared"),
            cache_by_kind={Pod: CacheScope(copy="shared")},
            clock=clock,
        )
        add_indexes(self._manager)
        for reconciler in reconcilers(rules, Randomness(seed), authority):
            self._manager.register(reconciler)

    def start(self) -> Self:
        """Start; return when the controllers work.

        Raises what :meth:`clientgo.operator.Manager.start` does.
        """
        create_nodes(self._client, self._nodes)
        self._manager.start()
        return self

    def stop(self) -> None:
        """Stop; blocks until all threads have ended. Raises what made the simulator fail."""
        self._manager.stop()

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set."""
        with self:
            stop.wait()

    def logs(self, pod: Mapping[str, Any], container: str) -> str:
        """Return what a container has written, as the stages say."""
        return log_of(self._rules, pod, container)

    def read_file(self, pod: Mapping[str, Any], container: str, path: str) -> bytes:
        """Return what a volume puts into a container.

        Raises ``FileNotFoundError``.
        """
        return MountedFiles(self._client).read(pod, container, path)

    def _begin_block(self) -> None:
        self.start()

    def _end_block(self) -> None:
        self.stop()


@contextmanager
def simulate(server: EmbeddedAPIServer, **settings: Any) -> Iterator[WorkloadSimulator]:
    """Run a simulator for a server in this process, with the logs and programs of its pods.

    ``settings`` are those of :class:`WorkloadSimulator`.
    """
    settings.setdefault("authority", server.client_authority)
    with WorkloadSimulator(server.kubeconfig, **settings) as simulator:
        server.provide_logs(simulator.logs)
        server.provide_programs(simulated_programs(simulator.logs, simulator.read_file))
        try:
            yield simulator
        finally:
            server.provide_logs(None)
            server.provide_programs(PodPrograms())


def _ignore(_text: str) -> None:
    """Do nothing about a warning."""


class _Indexed(Protocol):
    """A manager, or the cache of one."""

    def index(self, kind: Any, name: str, function: Any) -> None: ...


def add_indexes(cached: _Indexed) -> None:
    """Declare the indexes that the reconcilers read by."""
    for kind in _OWNED:
        cached.index(kind, OWNER, owner_uid)
    cached.index(Pod, BY_NODE, node_of)


def reconcilers(
    rules: Rules, randomness: Randomness, authority: KeyPair | None = None
) -> list[object]:
    """Return the reconcilers of all controllers; ``authority`` signs certificates."""
    return [
        Nodes(),
        Scheduler(rules, randomness),
        Kubelet(Lifecycle(rules, randomness), PodAddresses()),
        ReplicaSets(randomness),
        ReplicationControllers(randomness),
        Deployments(randomness),
        StatefulSets(randomness),
        DaemonSets(randomness),
        Jobs(randomness),
        CronJobs(randomness),
        EndpointSlices(randomness),
        EndpointMirrors(randomness),
        EndpointsOfServices(randomness),
        Autoscalers(),
        CertificateRequests(authority),
        DisruptionBudgets(),
        Volumes(),
        VolumeProtection(),
    ]
