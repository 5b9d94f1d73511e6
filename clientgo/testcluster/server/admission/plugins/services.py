"""Addresses and node ports of Services: which are used, and which a Service gets.

Promises: a Service gets addresses and ports that no other has, and keeps them as long as it needs
them. What is used is read from the stored Services, so that a refused write, a dry run or a deleted
Service leaves nothing behind.

Differs from upstream (``pkg/registry/core/service/storage/alloc.go``): a number follows from the
name of its Service, not from chance, so that two runs of a test give the same. It is from the part
of the range that upstream gives too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from ipaddress import ip_network
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar
from zlib import crc32

from clientgo.meta.validation.duplicates import duplicates
from clientgo.meta.validation.field_errors import FieldError
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.admission.plugins.plugin import Plugin
from clientgo.testcluster.server.admission.plugins.service_updates import (
    keep_allocated,
    needs_health_check,
)
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.resources.addresses import ip_problems, ipv4_number, ipv4_text
from clientgo.testcluster.server.resources.errors import internal_error, invalid
from clientgo.testcluster.server.storage.storage import Change, Object, Storage, StoredObject

ADDRESSES = ip_network("10.96.0.0/12")
"""The range of the addresses, as kubeadm chooses it; there is none for IPv6."""

_IN_RANGE = range(int(ADDRESSES.network_address), int(ADDRESSES.broadcast_address) + 1)
_FIRST_ADDRESS = _IN_RANGE[257]
_LAST_ADDRESS = _IN_RANGE[-2]

NODE_PORTS = range(30_000, 32_768)
_FIRST_PORT = 30_086
"""Addresses and ports below the first are left to Services that ask for a certain one."""

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_HEADLESS = "None"
_ASKED = frozenset({"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
"""Fields by which a Service asks for families and addresses."""


_Item = TypeVar("_Item", bound=int | str)


class _Pool(Generic[_Item]):
    """What the numbers of a range stand for, each used by one Service."""

    def __init__(self, first: int, last: int, item: Callable[[int], _Item]) -> None:
        self._first, self._last = first, last
        self._item = item
        self._users: dict[_Item, str] = {}

    def use(self, item: _Item, user: str) -> None:
        self._users[item] = user

    def release(self, item: _Item, user: str) -> None:
        if self._users.get(item) == user:
            del self._users[item]

    def is_free(self, item: _Item, user: str) -> bool:
        return self._users.get(item, user) == user

    def take(self, user: str, also_used: Collection[_Item]) -> _Item | None:
        """Return a free one, the same for a user if it is free; None if all are used."""
        start = self._first + crc32(user.encode()) % (self._last + 1 - self._first)
        for number in chain(range(start, self._last + 1), range(self._first, start)):
            item = self._item(number)
            if item not in self._users and item not in also_used:
                return item
        return None


class ServiceAllocation(Plugin):
    """Gives Services their addresses and node ports."""

    resources: ClassVar = (("", "services"),)

    def __init__(self, storage: Storage) -> None:
        self._addresses = _Pool(_FIRST_ADDRESS, _LAST_ADDRESS, ipv4_text)
        self._ports = _Pool(_FIRST_PORT, NODE_PORTS[-1], int)
        storage.observe(self._observe, *self.resources)

    def _observe(self, _: object, change: Change) -> None:
        key = change.current.key
        if change.previous is not None:
            for pool, item in self._used(change.previous):
                pool.release(item, key)
        if change.type is not EventType.DELETED:
            for pool, item in self._used(change.current):
                pool.use(item, key)

    def _used(self, stored: StoredObject) -> Iterator[tuple[_Pool[Any], str | int]]:
        """Yield what a Service uses; one that is in the cluster only has an address only."""
        address = stored.fields.get("spec.clusterIP")
        if address and address != _HEADLESS:
            yield self._addresses, address
        if stored.fields.get("spec.type") != "ClusterIP":
            for port in _used_ports(stored.decode()["spec"]):
                yield self._ports, port

    def admit(self, review: Review, obj: Object) -> None:
        """Set families, addresses and ports of a Service.

        Raises:
            FailedRequestError: 422, what the Service asks for is used, or does not fit.
        """
        spec = obj["spec"]
        old = review.old["spec"] if review.old is not None else None
        user = f"{review.namespace}/{review.name}"
        if old is not None:
            keep_allocated(spec, old)
        elif spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        errors: list[FieldError] = []
        if spec.get("type") != "ExternalName":
            asks = old is not None or not _ASKED.isdisjoint(spec)
            _set_families(spec, old)
            if asks:  # what is chosen here fits
                errors = _family_errors(spec) + _address_errors(spec) or list(_misfits(spec))
            if not errors and spec.get("clusterIP") != _HEADLESS:
                errors = self._set_addresses(spec, user)
        if not errors:
            errors = self._set_ports(spec, user, is_new=old is None)
        if errors:
            raise invalid(review.resource, review.name, errors)

    # -- addresses

    def _set_addresses(self, spec: Object, user: str) -> list[FieldError]:
        for address in spec.get("clusterIPs", ()):
            if ipv4_number(address) not in _IN_RANGE:
                why = f"the address is not in the range {ADDRESSES}"
            elif not self._addresses.is_free(address, user):
                why = "provided IP is already allocated"
            else:
                continue
            detail = f"failed to allocate IP {address}: {why}"
            return [FieldError.invalid("spec.clusterIPs", spec["clusterIPs"], detail)]
        if not spec.get("clusterIPs"):
            address = self._addresses.take(user, ())
            if address is None:
                raise internal_error("failed to allocate a serviceIP: range is full")
            spec["clusterIP"] = address
            spec["clusterIPs"] = [address]
        return []

    # -- ports

    def _set_ports(self, spec: Object, user: str, *, is_new: bool) -> list[FieldError]:
        given: dict[int, int] = {}
        """Node ports by port: the protocols of one port of a new Service share a node port."""
        ports = spec.get("ports", ())
        for index, port in enumerate(ports):
            if node_port := port.get("nodePort"):
                if why := self._why_refused(node_port, user):
                    path = f"spec.ports[{index}].nodePort"
                    return [FieldError.invalid(path, node_port, why)]
                given.setdefault(port["port"], node_port)
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            for port in ports:
                if not port.get("nodePort") and spec.get("allocateLoadBalancerNodePorts", True):
                    shared = given.get(port["port"]) if is_new else None
                    node_port = shared or self._take_port(user, given)
                    port["nodePort"] = given[port["port"]] = node_port
        if needs_health_check(spec):
            wanted = spec.get("healthCheckNodePort")
            if not wanted:
                spec["healthCheckNodePort"] = self._take_port(user, given)
            elif why := self._why_refused(wanted, user):
                number = f"failed to allocate requested HealthCheck NodePort {wanted}: {why}"
                raise internal_error(number)
        return []

    def _why_refused(self, node_port: int, user: str) -> str:
        if node_port not in NODE_PORTS:
            ports = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            return f"provided port is not in the valid range. The range of valid ports is {ports}"
        return "" if self._ports.is_free(node_port, user) else "provided port is already allocated"

    def _take_port(self, user: str, given: dict[int, int]) -> int:
        port = self._ports.take(user, given.values())
        if port is None:
            raise internal_error("failed to allocate a nodePort: range is full")
        return port


def _used_ports(spec: Object) -> Iterator[int]:
    for port in spec.get("ports", ()):
        if node_port := port.get("nodePort"):
            yield node_port
    if health_check := spec.get("healthCheckNodePort"):
        yield health_check


# -- families


def _set_families(spec: Object, old: Object | None) -> None:
    """Set the policy and the families that a Service leaves out."""
    any_family = spec.get("clusterIP") == _HEADLESS and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        before = old and old.get("ipFamilyPolicy")
        usual = "RequireDualStack" if any_family else "SingleStack"
        spec["ipFamilyPolicy"] = before or usual
    addresses = spec.get("clusterIPs", ())
    if not spec.get("ipFamilies"):
        families = [_family(item) for item in addresses if item != _HEADLESS]
        spec["ipFamilies"] = families or ["IPv4"]
    families = spec["ipFamilies"]
    if any_family and len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
        spec["ipFamilies"] = [*families, *(item for item in _FAMILIES if item not in families)]


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _family_errors(spec: Object) -> list[FieldError]:
    """Return the errors of families that are unknown or that the cluster does not have."""
    errors = [
        FieldError.not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        for index, family in enumerate(spec["ipFamilies"])
        if family not in _FAMILIES
    ]
    errors += [
        FieldError.duplicate(f"spec.ipFamilies[{index}]", spec["ipFamilies"][index])
        for index in sorted(duplicates(spec["ipFamilies"]))
    ]
    policy = spec["ipFamilyPolicy"]
    if policy not in _POLICIES:
        errors.append(FieldError.not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    return errors


def _address_errors(spec: Object) -> list[FieldError]:
    """Return the errors of addresses that are malformed or do not fit the families."""
    path = "spec.clusterIPs"
    address, addresses = spec.get("clusterIP"), spec.get("clusterIPs", [])
    errors = []
    if address and not addresses:
        errors.append(FieldError.required(path))
    elif address and addresses[0] != address:
        detail = "first value must match `clusterIP`"
        errors.append(FieldError.invalid(path, addresses, detail))
    elif addresses and not address:
        detail = "must be empty when `clusterIP` is not specified"
        errors.append(FieldError.invalid(path, addresses, detail))
    malformed = list(_malformed_addresses(addresses))
    if len(addresses) > 2:
        detail = "may only hold up to 2 values"
        errors.append(FieldError.invalid(path, addresses, detail))
    if malformed:
        return errors + malformed
    if len(addresses) == 2 and _family(addresses[0]) == _family(addresses[1]):
        detail = "may specify no more than one IP for each IP family"
        errors.append(FieldError.invalid(path, addresses, detail))
    if addresses == [_HEADLESS]:
        return errors
    for index, (given, family) in enumerate(zip(addresses, spec["ipFamilies"], strict=False)):
        if family in _FAMILIES and _family(given) != family:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(FieldError.invalid(f"{path}[{index}]", given, detail))
    return errors


def _malformed_addresses(addresses: list[str]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if index == 0 and address == _HEADLESS:
            if len(addresses) > 1:
                detail = "'None' must be the first and only value"
                yield FieldError.invalid("spec.clusterIPs", addresses, detail)
            continue
        for problem in ip_problems(address):
            yield FieldError.invalid(f"spec.clusterIPs[{index}]", address, problem)


def _misfits(spec: Object) -> Iterator[FieldError]:
    """Yield the errors of policy and families that do not fit the addresses or the cluster."""
    policy, families = spec["ipFamilyPolicy"], spec["ipFamilies"]
    addresses = spec.get("clusterIPs", ())
    path = "spec.ipFamilyPolicy"
    dual = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    if policy == "SingleStack" and len(addresses) == 2:
        yield FieldError.invalid(path, policy, dual.format("cluster IPs"))
    if policy == "SingleStack" and len(families) == 2:
        yield FieldError.invalid(path, policy, dual.format("IP families"))
    if spec.get("clusterIP") == _HEADLESS and not spec.get("selector"):
        return
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield FieldError.invalid(path, policy, detail)
    for index, family in enumerate(families):
        if family == "IPv6":
            detail = "not configured on this cluster"
            yield FieldError.invalid(f"spec.ipFamilies[{index}]", family, detail)
