"""What an update of a Service keeps of what was allocated, and what it gives back.

Upstream: ``patchAllocatedValues`` and ``dropTypeDependentFields`` in ``pkg/registry/core/service``.
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.testcluster.server.storage.storage import Object


def keep_allocated(spec: Object, before: Object) -> None:
    """Complete the new state of a Service by its old one, in place."""
    _keep_addresses(spec, before)
    if _has_node_ports(spec) and _has_node_ports(before):
        _keep_node_ports(spec, before)
    checked = needs_health_check(spec) and needs_health_check(before)
    if checked and not spec.get("healthCheckNodePort"):
        _take(spec, before, "healthCheckNodePort")
    _drop_fields_of_other_types(spec, before)


def needs_health_check(spec: Object) -> bool:
    """Return True if nodes answer whether they have endpoints of a Service."""
    return bool(_is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local")


def _take(spec: Object, old: Object, field: str) -> None:
    if field in old:
        spec[field] = old[field]
    else:
        spec.pop(field, None)


# -- which types have which fields

_Condition = Callable[[Object], bool]


def _has_addresses(spec: Object) -> bool:
    return bool(spec.get("type") != "ExternalName")


def _is_balanced(spec: Object) -> bool:
    return bool(spec.get("type") == "LoadBalancer")


def _has_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _is_external(spec: Object) -> bool:
    return _has_node_ports(spec) or bool(
        spec.get("type") == "ClusterIP" and spec.get("externalIPs")
    )


_FIELDS: tuple[tuple[_Condition, tuple[str, ...]], ...] = (
    (_has_addresses, ("clusterIP", "clusterIPs")),
    (_has_addresses, ("ipFamilies",)),
    (_has_addresses, ("ipFamilyPolicy",)),
    (_has_addresses, ("internalTrafficPolicy",)),
    (needs_health_check, ("healthCheckNodePort",)),
    (_is_balanced, ("allocateLoadBalancerNodePorts",)),
    (_is_balanced, ("loadBalancerClass",)),
    (_is_external, ("externalTrafficPolicy",)),
)
"""Fields that only some Services have."""


def _drop_fields_of_other_types(spec: Object, old: Object) -> None:
    """Remove fields that the new type does not have, unless the client has changed them."""
    for needs, fields in _FIELDS:
        unchanged = all(spec.get(field) in (None, "", old.get(field)) for field in fields)
        if needs(old) and not needs(spec) and unchanged:
            for field in fields:
                spec.pop(field, None)
    unchanged = _node_ports(spec) <= _node_ports(old) | {0}
    if _has_node_ports(old) and not _has_node_ports(spec) and unchanged:
        for port in spec.get("ports", ()):
            port.pop("nodePort", None)


def _node_ports(spec: Object) -> set[int]:
    return {port.get("nodePort", 0) for port in spec.get("ports", ())}


# -- what an update keeps


def _keep_node_ports(spec: Object, old: Object) -> None:
    """Keep the node ports that the client left out, by the names of the ports."""
    moved = _node_ports(spec) & _node_ports(old)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in old.get("ports", ())}
    for port in spec.get("ports", ()):
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in moved:
            port["nodePort"] = before


def _keep_addresses(spec: Object, old: Object) -> None:
    """Keep the addresses that the client left out, and bring their two fields into step."""
    if _has_addresses(spec) and _has_addresses(old) and not spec.get("clusterIP"):
        _take(spec, old, "clusterIP")
    address, before = spec.get("clusterIP"), old.get("clusterIP")
    is_changed = (spec.get("clusterIPs") or []) != (old.get("clusterIPs") or [])
    if (address or "") == (before or ""):
        if not spec.get("clusterIPs"):
            _take(spec, old, "clusterIPs")
    elif address and not (is_changed and spec.get("clusterIPs")):
        spec["clusterIPs"] = [address]
    elif not is_changed:
        spec.pop("clusterIPs", None)
