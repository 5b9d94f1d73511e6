"""Services: defaults, what an update keeps, and ports.

Addresses and node ports are allocated in admission.

Upstream: ``pkg/registry/core/service`` and ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy, take, text_fields
from clientgo.apiserver.resources.names import DNS_1035_LABEL
from clientgo.apiserver.storage.storage import Object

_AFFINITY_SECONDS = 10_800


class ServiceStrategy(StatusStrategy):
    """Services."""

    name_rule = DNS_1035_LABEL

    selectable_fields = text_fields("spec.clusterIP", "spec.type")

    def default(self, obj: Object) -> None:
        """Set type, affinity, policies, and the target of each port."""
        spec = obj["spec"]
        spec.setdefault("sessionAffinity", "None")
        spec.setdefault("type", "ClusterIP")
        if spec["type"] != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
        if spec["sessionAffinity"] == "ClientIP":
            client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
        else:
            spec.pop("sessionAffinityConfig", None)
        for port in spec.get("ports", ()):
            port.setdefault("targetPort", port["port"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status and what is allocated; drop what the new type does not have."""
        super().prepare_for_update(new, old)
        spec, before = new["spec"], old["spec"]
        _keep_addresses(spec, before)
        if _has_node_ports(spec) and _has_node_ports(before):
            _keep_node_ports(spec, before)
        checked = _has_health_check(spec) and _has_health_check(before)
        if checked and not spec.get("healthCheckNodePort"):
            take(spec, before, "healthCheckNodePort")
        _drop_fields_of_other_types(spec, before)

    def initial_status(self, obj: Object) -> Object:
        """Return an empty load balancer status."""
        return {"loadBalancer": {}}

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of fields that are ignored or deprecated."""
        spec = new["spec"]
        warnings = []
        if spec.get("externalIPs"):
            warnings.append(
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
            )
        if spec.get("clusterIP") == "None":
            if spec.get("loadBalancerIP"):
                warnings.append("spec.loadBalancerIP is ignored for headless services")
            if spec.get("sessionAffinity") != "None":
                warnings.append("spec.SessionAffinity is ignored for headless services")
        if spec.get("trafficDistribution") == "PreferClose":
            warnings.append(
                'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
            )
        return warnings


# -- which types have which fields

_Condition = Callable[[Object], bool]


def _has_addresses(spec: Object) -> bool:
    return bool(spec.get("type") != "ExternalName")


def _is_balanced(spec: Object) -> bool:
    return bool(spec.get("type") == "LoadBalancer")


def _has_node_ports(spec: Object) -> bool:
    allocates = spec.get("allocateLoadBalancerNodePorts", True)
    return bool(spec.get("type") == "NodePort" or (_is_balanced(spec) and allocates))


def _is_external(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _has_health_check(spec: Object) -> bool:
    return bool(_is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local")


_FIELDS: tuple[tuple[_Condition, tuple[str, ...]], ...] = (
    (_has_addresses, ("clusterIP", "clusterIPs")),
    (_has_addresses, ("ipFamilies",)),
    (_has_addresses, ("ipFamilyPolicy",)),
    (_has_health_check, ("healthCheckNodePort",)),
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
    unchanged = _node_ports(spec) == _node_ports(old)
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
    """Keep the addresses that the client left out."""
    if not _has_addresses(spec) or not _has_addresses(old):
        return
    if not spec.get("clusterIP"):
        take(spec, old, "clusterIP")
    same = spec.get("clusterIP") == old.get("clusterIP")
    if same and not spec.get("clusterIPs"):
        take(spec, old, "clusterIPs")
    elif not same and spec.get("clusterIPs") == old.get("clusterIPs"):
        spec.pop("clusterIPs", None)
