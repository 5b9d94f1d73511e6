"""A cluster that moves: simulated controllers, scheduler and kubelets.

::

    with EmbeddedAPIServer() as server, simulate(server):
        ...  # a Deployment gets ReplicaSets, these get pods, and the pods become ready

An example of the operator layer too: each controller is one small reconciler.

The folders, each of which imports only from those below it::

    simulator      the manager that runs everything
    cluster        nodes, scheduler
    controllers    what owns pods: Deployments, ReplicaSets and so on
    pods           stages, the life of a pod, the kubelet
"""

from clientgo.testcluster.workloads.pods.stages import Rule, load_rules
from clientgo.testcluster.workloads.simulator import WorkloadSimulator, simulate

__all__ = ["Rule", "WorkloadSimulator", "load_rules", "simulate"]
