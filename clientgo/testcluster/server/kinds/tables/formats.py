"""The named formats of fields of built-in kinds.

Each format returns the problems of a value, and a server reports each problem.

Upstream: apimachinery ``util/validation`` and ``pkg/apis/core/validation``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from clientgo.meta.selectors import label_key_problems, label_value_problems
from clientgo.testcluster.server.resources.addresses import cidr_problems, ip_problems, is_ip
from clientgo.testcluster.server.resources.names import (
    DNS_1035_LABEL,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    PATH_SEGMENT,
)
from clientgo.util.text.cron import CronError, parse_cron

Format = Callable[[Any], list[str]]

_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ENV_NAME = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_HEADER_NAME = re.compile(r"[-A-Za-z0-9]+")
_UNDERSCORED_SUBDOMAIN = re.compile(
    r"_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\._?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*"
)
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_MOST_PORT_NAME = 15
_MOST_KEY = _MOST_DOMAIN = _MOST_SYSCTL = 253
_LAST_PORT = 65535


def _matching(pattern: re.Pattern[str], problem: str, longest: int | None = None) -> Format:
    def check(text: str) -> list[str]:
        too_long = longest is not None and len(text) > longest
        problems = [f"must be no more than {longest} bytes"] if too_long else []
        return problems if pattern.fullmatch(text) else [*problems, problem]

    return check


def _labels(labels: Mapping[str, str]) -> list[str]:
    return [
        problem
        for key, value in labels.items()
        for problem in (*label_key_problems(key), *label_value_problems(value))
    ]


def _annotations(annotations: Mapping[str, str]) -> list[str]:
    return [problem for key in annotations for problem in label_key_problems(key.lower())]


def _label_keys(keys: Mapping[str, Any]) -> list[str]:
    return [problem for key in keys for problem in label_key_problems(key)]


def _port(number: Any) -> list[str]:
    return [] if number in range(1, _LAST_PORT + 1) else ["must be between 1 and 65535, inclusive"]


def _port_name(name: str) -> list[str]:
    problems = []
    if len(name) > _MOST_PORT_NAME:
        problems.append(f"must be no more than {_MOST_PORT_NAME} characters")
    if not _PORT_NAME.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def _port_number_or_name(port: Any) -> list[str]:
    return _port_name(port) if isinstance(port, str) else _port(port)


def _count_or_percentage(value: Any) -> list[str]:
    if isinstance(value, str):
        return [] if re.fullmatch("[0-9]+%", value) else ["a valid percent string must be numeric"]
    return [] if value >= 0 else ["must be greater than or equal to 0"]


def _at_most_100_percent(value: Any) -> list[str]:
    too_much = isinstance(value, str) and value[:-1].isdigit() and int(value[:-1]) > 100
    return ["must not be greater than 100%"] if too_much else []


def _domain_prefixed_path(text: str) -> list[str]:
    host, slash, path = text.partition("/")
    if not slash or not path:
        return ['must be a domain-prefixed path (such as "acme.io/foo")']
    problems = DNS_SUBDOMAIN.problems(host)
    if not _HTTP_PATH.fullmatch(path):
        problems.append("a valid path must consist of valid characters")
    return problems


_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def _config_key(key: str) -> list[str]:
    problems = [] if len(key) <= _MOST_KEY else [f"must be no more than {_MOST_KEY} bytes"]
    if not _CONFIG_KEY.fullmatch(key):
        problems.append("a valid config key must consist of alphanumeric characters, '-', '_', '.'")
    return problems + _dots(key)


def _dots(key: str) -> list[str]:
    if key in (".", ".."):
        return [f"must not be '{key}'"]
    return ["must not start with '..'"] if key.startswith("..") else []


def _padded_cidr(text: str) -> list[str]:
    return cidr_problems(text.strip())


LOOPBACK: Final = "may not be in the loopback range"


def _reachable_ip(text: str) -> list[str]:
    """Return the problems of an address that other machines are to reach."""
    if problems := ip_problems(text):
        return problems
    address = ipaddress.ip_address(text)
    local_multicast = ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
    found = {
        "may not be unspecified": address.is_unspecified,
        LOOPBACK: address.is_loopback,
        "may not be in the link-local range": address.is_link_local,
        "may not be in the link-local multicast range": address in local_multicast,
    }
    return [problem for problem, is_so in found.items() if is_so]


def _absolute_path(path: str) -> list[str]:
    return [] if path.startswith("/") else ["must be an absolute path"]


def _no_backsteps(path: str) -> list[str]:
    return ["must not contain '..'"] if ".." in path.split("/") else []


def _descending_path(path: str) -> list[str]:
    relative = ["must be a relative path"] if path.startswith("/") else []
    return relative + _no_backsteps(path)


def _local_path(path: str) -> list[str]:
    problems = _descending_path(path)
    if path.startswith("..") and not path.startswith("../"):
        problems.append("must not start with '..'")
    return problems


_ISCSI_NAME = re.compile(
    r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)|eui.[a-zA-Z0-9]{16}|naa.[a-zA-Z0-9]{32}"
)
_SYSCTL = re.compile(r"(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?")


def _container_resource(name: str) -> list[str]:
    """Return the problems of a resource of a container: some names have two."""
    problems = _resource_name(name)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            problems = [*problems, "must be a standard resource for containers"]
    elif not problems and "kubernetes.io/" not in name and name.startswith("requests."):
        problems = ["doesn't follow extended resource name standard"]
    return problems


_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})


def _prefix_of(check: Callable[..., list[str]]) -> Format:
    return lambda text: check(text, prefix=True)


def _user_id(number: int) -> list[str]:
    return [] if 0 <= number <= _LAST_USER else ["must be between 0 and 2147483647, inclusive"]


_LAST_USER = 2**31 - 1


def _trimmed(text: str) -> list[str]:
    return [] if text == text.strip() else ["must not have leading or trailing whitespace"]


def _cron_schedule(text: str) -> list[str]:
    problems = []
    if "TZ" in text:
        problems.append("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    try:
        parse_cron(text)
    except CronError as error:
        problems.append(str(error))
    return problems


def _time_zone(name: str) -> list[str]:
    if not name:
        return ["timeZone must be nil or non-empty string"]
    if name.lower() == "local":
        return ["timeZone must be an explicit time zone"]
    import zoneinfo  # slow to import, and rarely needed

    return [] if name in zoneinfo.available_timezones() else [f"unknown time zone {name}"]


def _resource_name(name: str) -> list[str]:
    """Return the problems of a name of a resource; upstream checks it twice."""
    problems = label_key_problems(name)
    if problems or "/" in name:
        return problems
    known = name in _STANDARD_RESOURCES or name.startswith(_STANDARD_PREFIXES)
    return [] if known else ["must be a standard resource type or fully qualified"]


_STANDARD_RESOURCES = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "storage"),
        *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas"),
        *("services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers"),
    }
)
QUOTA_RESOURCES: Final = _STANDARD_RESOURCES - {"storage"}
"""Resources that a quota can limit, besides huge pages and names with a domain."""

_STANDARD_PREFIXES = ("hugepages-", "requests.hugepages-")


def _quota_resource(name: str) -> list[str]:
    """Return the problems of a resource of a quota: some names have two."""
    problems = _resource_name(name)
    known = name in QUOTA_RESOURCES or name.startswith(_STANDARD_PREFIXES)
    if "/" in name or known:
        return problems
    return [*problems, "must be a standard resource for quota"]


def _limit_type(name: str) -> list[str]:
    problems = label_key_problems(name)
    if problems or "/" in name or name in ("Container", "PersistentVolumeClaim", "Pod"):
        return problems
    return ["must be a standard limit type or fully qualified"]


def _finalizer(name: str) -> list[str]:
    problems = label_key_problems(name)
    if "/" in name or name in ("foregroundDeletion", "kubernetes", "orphan"):
        return problems
    return [*problems, "name is neither a standard finalizer name nor is it fully qualified"]


def _no_ip(name: str) -> list[str]:
    return ["must be a DNS name, not an IP address"] if is_ip(name) else []


def _ingress_host(host: str) -> list[str]:
    return _no_ip(host) + _wildcard_subdomain(host)


def _domain_name(name: str) -> list[str]:
    """Return the problems of a name with a domain; it may end in a dot."""
    bare = name.removesuffix(".")
    if problems := DNS_SUBDOMAIN.problems(bare):
        return problems
    labels = bare.split(".")
    if len(labels) < 2:
        return ["should be a domain with at least two segments separated by dots"]
    return [problem for label in labels for problem in DNS_LABEL.problems(label)]


def _wildcard_subdomain(host: str) -> list[str]:
    if "*" not in host:
        return DNS_SUBDOMAIN.problems(host)
    if host.startswith("*.") and not DNS_SUBDOMAIN.problems(host[2:]):
        return []
    return ["a wildcard DNS-1123 subdomain must start with '*.', followed by a DNS subdomain"]


FORMATS: Final[Mapping[str, Format]] = {
    "absolute-path": _absolute_path,
    "annotations": _annotations,
    "at-most-100-percent": _at_most_100_percent,
    "cidr": cidr_problems,
    "config-key": _config_key,
    "container-resource": _container_resource,
    "count-or-percentage": _count_or_percentage,
    "cron-schedule": _cron_schedule,
    "csi-driver-name": lambda name: DNS_SUBDOMAIN.problems(name.lower()),
    "descending-path": _descending_path,
    "dns-1035-label": DNS_1035_LABEL.problems,
    "dns-label": DNS_LABEL.problems,
    "dns-subdomain": DNS_SUBDOMAIN.problems,
    "dns-subdomain-prefix": _prefix_of(DNS_SUBDOMAIN.problems),
    "domain-prefixed-path": _domain_prefixed_path,
    "domain-name": _domain_name,
    "env-name": _matching(_ENV_NAME, "must be printable ASCII characters other than '='"),
    "finalizer": _finalizer,
    "http-header-name": _matching(_HEADER_NAME, "a valid HTTP header must consist of letters"),
    "ingress-host": _ingress_host,
    "ip": ip_problems,
    "iscsi-name": _matching(_ISCSI_NAME, "must be valid format"),
    "label-key": label_key_problems,
    "label-key-of-any-case": lambda key: label_key_problems(key.lower()),
    "label-keys": _label_keys,
    "label-value": label_value_problems,
    "labels": _labels,
    "limit-type": _limit_type,
    "local-path": _local_path,
    "no-backsteps": _no_backsteps,
    "no-ip": _no_ip,
    "path-segment": PATH_SEGMENT.problems,
    "padded-cidr": _padded_cidr,
    "port": _port,
    "port-name": _port_name,
    "port-number-or-name": _port_number_or_name,
    "quota-resource": _quota_resource,
    "reachable-ip": _reachable_ip,
    "resource-name": _resource_name,
    "sysctl": _matching(_SYSCTL, "must be the name of a sysctl", _MOST_SYSCTL),
    "time-zone": _time_zone,
    "trimmed": _trimmed,
    "underscored-subdomain": _matching(
        _UNDERSCORED_SUBDOMAIN, "must be a DNS subdomain", _MOST_DOMAIN
    ),
    "user-id": _user_id,
    "wildcard-subdomain": _wildcard_subdomain,
}
"""Formats by the name that tables use."""
