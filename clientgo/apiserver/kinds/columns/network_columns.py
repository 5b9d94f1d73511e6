"""The columns of services, endpoints, ingresses and what belongs to them.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.apiserver.kinds.columns.columns import (
    NONE,
    UNKNOWN,
    UNSET,
    addresses,
    column,
    find,
    joined,
    selector,
    shortened,
    text,
)
from clientgo.apiserver.resources.columns import AGE, NAME, Column
from clientgo.apiserver.storage.storage import Object

# -- services


def _external_ip(service: Object) -> str:
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", NONE))
    balancers = addresses(find(service, "status.loadBalancer.ingress") or ())
    pending = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    return ",".join([*balancers, *spec.get("externalIPs", ())]) or pending


def _service_ports(service: Object) -> str:
    told = []
    for port in service["spec"].get("ports", ()):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        told.append(f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(told) or NONE


# -- endpoints


def _endpoints(endpoints: Object) -> str:
    told: list[str] = []
    for subset in endpoints.get("subsets") or ():
        ips = [item["ip"] for item in subset.get("addresses", ())]
        ports = [item["port"] for item in subset.get("ports", ())]
        told += [_with_port(ip, port) for port in ports for ip in ips] if ports else ips
    return shortened(told, NONE)


def _with_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _slice_ports(endpoint_slice: Object) -> str:
    ports = endpoint_slice.get("ports") or ()
    told = [str(port.get("port") or port.get("name") or "*") for port in ports]
    return shortened(told, UNSET)


def _slice_addresses(endpoint_slice: Object) -> str:
    endpoints = endpoint_slice.get("endpoints") or ()
    return shortened([address for item in endpoints for address in item["addresses"]], UNSET)


# -- ingresses


def _hosts(ingress: Object) -> str:
    rules = ingress["spec"].get("rules", ())
    return shortened([rule["host"] for rule in rules if rule.get("host")], "*")


def _balancers(ingress: Object) -> str:
    return ",".join(addresses(find(ingress, "status.loadBalancer.ingress") or ()))


def _ingress_ports(ingress: Object) -> str:
    return "80, 443" if ingress["spec"].get("tls") else "80"


def _reference(path: str, group: str) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        referred = find(obj, path)
        if not referred:
            return NONE
        kind = f"{referred.get('kind', '')}.{referred[group]}" if referred.get(group) else ""
        return f"{kind or referred.get('kind', '')}/{referred.get('name', '')}"

    return read


def _parent(address: Object) -> str:
    parent = find(address, "spec.parentRef") or {}
    place = [
        parent.get("group"),
        parent.get("resource"),
        parent.get("namespace"),
        parent.get("name"),
    ]
    return "/".join(filter(None, place))


NETWORK_COLUMNS: dict[str, tuple[Column, ...]] = {
    "v1/endpoints": (NAME, column("Endpoints", _endpoints, "Addresses behind a service."), AGE),
    "v1/services": (
        NAME,
        column("Type", text("spec.type"), "How the service is reached."),
        column("Cluster-IP", text("spec.clusterIP", NONE), "Its address in the cluster."),
        column("External-IP", _external_ip, "Its address for others."),
        column("Port(s)", _service_ports, "Its ports."),
        AGE,
        column("Selector", selector("spec.selector"), "Labels of the pods behind it.", wide=True),
    ),
    "discovery.k8s.io/v1/endpointslices": (
        NAME,
        column("AddressType", text("addressType"), "What kind of addresses there are."),
        column("Ports", _slice_ports, "Ports of all endpoints."),
        column("Endpoints", _slice_addresses, "Addresses of all endpoints."),
        AGE,
    ),
    "networking.k8s.io/v1/ingressclasses": (
        NAME,
        column("Controller", text("spec.controller"), "Who serves ingresses of the class."),
        column("Parameters", _reference("spec.parameters", "apiGroup"), "What sets it up."),
        AGE,
    ),
    "networking.k8s.io/v1/ingresses": (
        NAME,
        column("Class", text("spec.ingressClassName", NONE), "Which class serves it."),
        column("Hosts", _hosts, "Hosts that its rules are for."),
        column("Address", _balancers, "Where the load balancer is reached."),
        column("Ports", _ingress_ports, "Ports that are open."),
        AGE,
    ),
    "networking.k8s.io/v1/ipaddresses": (
        NAME,
        column("ParentRef", _parent, "What has the address."),
    ),
    "networking.k8s.io/v1/networkpolicies": (
        NAME,
        column("Pod-Selector", selector("spec.podSelector"), "Labels of the pods it is for."),
        AGE,
    ),
    "networking.k8s.io/v1/servicecidrs": (
        NAME,
        column("CIDRs", joined("spec.cidrs", UNKNOWN), "Ranges that addresses are from."),
        AGE,
    ),
}
"""By API version and plural."""
