"""Cells of services, endpoints, ingresses and addresses.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.columns.readers import (
    NONE,
    UNSET,
    addresses,
    find,
    shortened,
)
from clientgo.testcluster.server.storage.storage import Object

# -- services


def service_external_ip(service: Object) -> str:
    """Return the external addresses of a service."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", NONE))
    balancers = addresses(find(service, "status.loadBalancer.ingress") or ())
    pending = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    return ",".join([*balancers, *spec.get("externalIPs", ())]) or pending


def service_ports(service: Object) -> str:
    """Return ports, node ports and protocols."""
    shown = []
    for port in service["spec"].get("ports", ()):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(shown) or NONE


# -- endpoints


def endpoint_addresses(endpoints: Object) -> str:
    """Return addresses with ports."""
    shown: list[str] = []
    for subset in endpoints.get("subsets") or ():
        ips = [item["ip"] for item in subset.get("addresses", ())]
        ports = [item["port"] for item in subset.get("ports", ())]
        shown += [_with_port(ip, port) for port in ports for ip in ips] if ports else ips
    return shortened(shown, NONE)


def _with_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def slice_ports(endpoint_slice: Object) -> str:
    """Return the ports of an endpoint slice."""
    ports = endpoint_slice.get("ports") or ()
    shown = [str(port.get("port") or port.get("name") or "*") for port in ports]
    return shortened(shown, UNSET)


def slice_addresses(endpoint_slice: Object) -> str:
    """Return the addresses of an endpoint slice."""
    endpoints = endpoint_slice.get("endpoints") or ()
    return shortened([address for item in endpoints for address in item["addresses"]], UNSET)


# -- ingresses


def ingress_hosts(ingress: Object) -> str:
    """Return the hosts of the rules."""
    rules = ingress["spec"].get("rules", ())
    return shortened([rule["host"] for rule in rules if rule.get("host")], "*")


def ingress_addresses(ingress: Object) -> str:
    """Return the addresses of the load balancer."""
    return ",".join(addresses(find(ingress, "status.loadBalancer.ingress") or ()))


def ingress_ports(ingress: Object) -> str:
    """Return the open ports."""
    return "80, 443" if ingress["spec"].get("tls") else "80"


def class_parameters(ingress_class: Object) -> str:
    """Return kind and name of the object that configures an ingress class."""
    parameters = find(ingress_class, "spec.parameters")
    if not parameters:
        return NONE
    kind = ".".join(filter(None, (parameters.get("kind"), parameters.get("apiGroup"))))
    return f"{kind}/{parameters.get('name', '')}"


def address_parent(address: Object) -> str:
    """Return the object that an address belongs to."""
    parent = find(address, "spec.parentRef") or {}
    place = [
        parent.get("group"),
        parent.get("resource"),
        parent.get("namespace"),
        parent.get("name"),
    ]
    return "/".join(filter(None, place))
