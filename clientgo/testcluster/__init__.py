"""Kubernetes without a cluster: an API server in memory, and what only it needs.

::

    kubectl, clients ──► server ──► schema, cel, fields       workloads ──► server
                         requests,  what an object may be,    controllers, scheduler and
                         storage    who owns which field      kubelets, simulated
"""
