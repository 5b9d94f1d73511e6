"""Leases that a test does not wait for."""

from __future__ import annotations

from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client


def let_lease_end_soon(client: Client, name: str, namespace: str = "default") -> None:
    """Let a Lease end in a second, whose holder does not renew it any more.

    So processes can have Leases that they do not lose on a busy machine.
    """
    leases = client.resource(Lease).namespace(namespace)
    leases.patch(name, {"spec": {"leaseDurationSeconds": 1}})
