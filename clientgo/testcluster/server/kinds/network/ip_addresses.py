"""IPAddresses: their names are addresses.

Upstream: ``pkg/registry/networking/ipaddress/strategy.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.resources.names import IP_ADDRESS


class IPAddressStrategy(BuiltinStrategy):
    """IPAddresses."""

    name_rule = IP_ADDRESS
