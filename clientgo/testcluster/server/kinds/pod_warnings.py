"""Warnings about pods that are accepted and probably wrong.

Functions have no state, except for the warnings of pods that were seen before.

Upstream: ``pkg/api/pod/warnings.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.meta.selectors import label_value_problems
from clientgo.meta.validation.duplicates import duplicates
from clientgo.testcluster.server.kinds.warnings import (
    VOLUME_ROWS,
    Row,
    bytes_fraction,
    old_label,
    row_warnings,
    warn,
)
from clientgo.testcluster.server.resources.addresses import ip_warnings
from clientgo.testcluster.server.resources.names import DNS_LABEL
from clientgo.testcluster.server.storage.storage import Object


def name_warnings(obj: Object, use: str) -> list[str]:
    """Return the warning about a name that can't be used in hostnames."""
    name = obj["metadata"].get("name", "")
    if not DNS_LABEL.problems(name):
        return []
    problems = ["must be no more than 63 bytes"] if len(name) > DNS_LABEL.max_length else []
    problems += ["must not contain dots"] if "." in name else []
    return [
        f"metadata.name: this is used in {use}, which can result in surprising behavior; a DNS "
        f"label is recommended: [{' '.join(problems)}]"
    ]


_known = RepeatedValues()

_MOST_WARNINGS: Final = 10_000
"""More do not fit into a response. Each pair of ports, or of files, can cause one."""


def pod_warnings(pod: Object, prefix: str = "") -> list[str]:
    """Return the warnings about a pod, or a template of pods; ``prefix`` is its path with a dot."""
    annotations = pod.get("metadata", {}).get("annotations", {})
    key = value_key([prefix, annotations, pod.get("spec")])
    found: list[str] | None = _known.result(key)
    if found is None:
        warnings = _warnings(pod.get("spec", {}), annotations, prefix)
        found = list(islice(warnings, _MOST_WARNINGS))
        _known.remember(key, found)
    return found


def _warnings(spec: Object, annotations: Mapping[str, str], prefix: str) -> Iterator[str]:
    """Yield the warnings in upstream's order."""
    path, annotated = f"{prefix}spec", f"{prefix}metadata.annotations"
    yield from row_warnings(_SELECTION_ROWS, spec, f"{path}.")
    yield from row_warnings(_ANNOTATION_ROWS, annotations, annotated)
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from row_warnings(VOLUME_ROWS, volume, f"{path}.volumes[{index}].")
    yield from _overlapping_paths(spec)
    yield from _duplicate_aliases(spec, path)
    yield from _pull_secrets(spec, path)
    yield from row_warnings(_OVERHEAD_ROWS, spec, f"{path}.")
    yield from _old_profile(spec, annotations, annotated)
    for where, container in _containers(spec, path):
        yield from _old_container_profiles(container, spec, annotations, annotated)
        yield from row_warnings(_CONTAINER_ROWS, container, f"{where}.")
        yield from _hidden_variables(container, where)
    yield from _ports(spec, path)
    yield from _duplicate_port_names(spec, path)
    yield from row_warnings(_LAST_ROWS, spec, f"{path}.")


def _containers(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


def _null_selector(selecting: Object, path: str) -> list[str]:
    """Return the warning about a term that selects no pod."""
    if "labelSelector" in selecting:
        return []
    return [f"{path}.labelSelector: a null labelSelector results in matching no pod"]


def _grace_period(seconds: int, path: str) -> list[str]:
    if seconds >= 0:
        return []
    return [f"{path}: must be >= 0; negative values are invalid and will be treated as 1"]


def _spread(constraint: Object, path: str) -> list[str]:
    key = constraint.get("topologyKey", "")
    return [*_old_label(key, f"{path}.topologyKey"), *_null_selector(constraint, path)]


def _preferred(requirement: Object, path: str) -> list[str]:
    """Return the warnings about a requirement that only weighs nodes: its values may be wrong."""
    return [
        *_old_label(requirement.get("key", ""), f"{path}.key"),
        *(
            f"{path}.values[{index}]: {value} is invalid, {problem}"
            for index, value in enumerate(requirement.get("values") or ())
            for problem in label_value_problems(value)
        ),
    ]


_old_label = old_label()
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ON_NODES = "affinity.nodeAffinity"

_SELECTION_ROWS: tuple[Row, ...] = (
    ("nodeSelector{}", old_label("{path}: {what}")),
    (f"{_ON_NODES}.{_REQUIRED}.nodeSelectorTerms[].matchExpressions[].key", _old_label),
    (f"{_ON_NODES}.{_PREFERRED}[].preference.matchExpressions[]", _preferred),
    ("topologySpreadConstraints[]", _spread),
)
_OVERHEAD_ROWS: tuple[Row, ...] = (
    ("overhead[memory]", bytes_fraction),
    ("overhead[ephemeral-storage]", bytes_fraction),
)
_CONTAINER_ROWS: tuple[Row, ...] = tuple(
    (f"resources.{part}[{name}]", bytes_fraction)
    for name in ("memory", "ephemeral-storage")
    for part in ("limits", "requests")
)
_LAST_ROWS: tuple[Row, ...] = (
    ("terminationGracePeriodSeconds", _grace_period),
    *(
        (f"affinity.{kind}.{terms}", _null_selector)
        for kind in ("podAffinity", "podAntiAffinity")
        for terms in (f"{_REQUIRED}[]", f"{_PREFERRED}[].podAffinityTerm")
    ),
    ("dnsConfig.nameservers[]", ip_warnings),
    ("hostAliases[].ip", ip_warnings),
)


# -- annotations that were fields to be

_SYSCTLS = warn('non-functional in v1.11+; use the "sysctls" field instead')
_ANNOTATION_ROWS: tuple[Row, ...] = (
    (
        "[scheduler.alpha.kubernetes.io/critical-pod]",
        warn('non-functional in v1.16+; use the "priorityClassName" field instead'),
    ),
    ("[security.alpha.kubernetes.io/sysctls]", _SYSCTLS),
    ("[security.alpha.kubernetes.io/unsafe-sysctls]", _SYSCTLS),
)
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'


def _old_profile(spec: Object, annotations: Mapping[str, str], path: str) -> Iterator[str]:
    name = "seccomp.security.alpha.kubernetes.io/pod"
    if name in annotations and not _has_profile("seccompProfile", spec):
        yield f"{path}[{name}]: {_SECCOMP}"


def _old_container_profiles(
    container: Object, spec: Object, annotations: Mapping[str, str], path: str
) -> Iterator[str]:
    name = f"container.seccomp.security.alpha.kubernetes.io/{container.get('name', '')}"
    if name in annotations and not _has_profile("seccompProfile", container):
        yield f"{path}[{name}]: {_SECCOMP}"
    name = f"container.apparmor.security.beta.kubernetes.io/{container.get('name', '')}"
    if name in annotations and not _has_profile("appArmorProfile", spec, container):
        yield f"{path}[{name}]: {_APP_ARMOR}"


def _has_profile(field: str, *owners: Object) -> bool:
    return any(field in (owner.get("securityContext") or {}) for owner in owners)


# -- volumes


def _overlapping_paths(spec: Object) -> Iterator[str]:
    """Yield a warning for each two files of a volume of which one would replace the other."""
    for volume in spec.get("volumes") or ():
        name = volume.get("name", "")
        for kind, field in (("ConfigMap", "name"), ("Secret", "secretName"), ("DownwardAPI", "")):
            source = volume.get(kind[0].lower() + kind[1:]) or {}
            said = f'{kind} "{source.get(field, "")}"' if field else kind
            files = [(item.get("path", ""), "") for item in source.get("items") or ()]
            for overlap in _Files().overlaps(files):
                yield f'volume "{name}" ({said}): overlapping paths: {overlap}'
        seen = _Files()
        for source in (volume.get("projected") or {}).get("sources") or ():
            if not source:
                yield f'volume "{name}" (Projected) has no sources provided'
            for overlap in seen.overlaps(_projected_files(source)):
                yield f'volume "{name}" (Projected): overlapping paths: {overlap}'


_File = tuple[str, str]
"""The path of a file, and what is said of its source."""


def _projected_files(source: Object) -> Iterator[_File]:
    """Yield the files of a source of a projected volume."""
    for kind in ("configMap", "secret", "downwardAPI"):
        if items := (source.get(kind) or {}).get("items"):
            title = kind[0].upper() + kind[1:]
            name = "" if kind == "downwardAPI" else f' "{source[kind].get("name", "")}"'
            yield from ((item.get("path", ""), f" ({title}{name})") for item in items)
            return
    if token := source.get("serviceAccountToken"):
        yield token.get("path", ""), " (ServiceAccountToken)"
    elif bundle := source.get("clusterTrustBundle"):
        named = bundle.get("name") or bundle.get("signerName", "")
        yield bundle.get("path", ""), f' (ClusterTrustBundle "{named}")'
    elif certificate := source.get("podCertificate"):
        for field, what in _CERTIFICATE_FILES.items():
            yield certificate.get(field, ""), f" (PodCertificate {what})"


_CERTIFICATE_FILES: Mapping[str, str] = {
    "certificateChainPath": "chain",
    "keyPath": "key",
    "credentialBundlePath": "credential bundle",
}


class _Files:
    """The files of a volume, as a tree of directories. A path may be a file and a directory."""

    def __init__(self) -> None:
        self._seen: list[_File] = []
        self._root = _Directory({}, [])

    def overlaps(self, files: Iterable[_File]) -> Iterator[str]:
        """Add files; yield each overlap with one that was added before."""
        for path, said in ((path.rstrip("/"), said) for path, said in files):
            if not path:
                continue
            for other, of_other in self._add(path, said):
                yield f'"{path}"{said} with "{other}"{of_other}'

    def _add(self, path: str, said: str) -> list[_File]:
        """Add a file; return those above, at and below it, in the order of their addition."""
        directory, found = self._root, []
        for name in path.split("/"):
            found += directory.files
            directory = directory.below.setdefault(name, _Directory({}, []))
        below = [directory]
        while below:
            at = below.pop()
            found += at.files
            below += at.below.values()
        directory.files.append(len(self._seen))
        self._seen.append((path, said))
        return [self._seen[place] for place in sorted(found)]


class _Directory(NamedTuple):
    below: dict[str, _Directory]
    files: list[int]
    """Those of this path, by the order of their addition."""


# -- names that are there twice


def _duplicate_aliases(spec: Object, path: str) -> Iterator[str]:
    addresses = [alias["ip"] for alias in spec.get("hostAliases") or ()]
    for index in sorted(duplicates(addresses)):
        yield f'{path}.hostAliases[{index}].ip: duplicate ip "{addresses[index]}"'


def _pull_secrets(spec: Object, path: str) -> Iterator[str]:
    names = [secret.get("name", "") for secret in spec.get("imagePullSecrets") or ()]
    for index in sorted(duplicates(names)):
        yield f'{path}.imagePullSecrets[{index}].name: duplicate name "{names[index]}"'
    for index, name in enumerate(names):
        if not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _hidden_variables(container: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable["name"], variable.get("value", "")
        extends = "valueFrom" not in variable and f"$({name})" in value and value != f"$({name})"
        if name in seen and not extends:
            where = f"{path}.env[{index}]"
            yield (
                f'{where}: hides previous definition of "{name}", which may be dropped when using '
                "apply"
            )
        seen.add(name)


def _all_ports(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for where, container in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            yield f"{where}.ports[{index}]", port


def _ports(spec: Object, path: str) -> Iterator[str]:
    seen: dict[_PortKey, list[int]] = {}
    ports: list[tuple[str, Object]] = []
    for where, port in _all_ports(spec, path):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{where}: hostIP set without hostPort: {_shown(port)}"
        for before in sorted(chain.from_iterable(seen.get(key, ()) for key in _related(port))):
            other_place, other = ports[before]
            yield f"{where}: {_relation(port, other)} port definition with {other_place}"
        for key in _keys(port):
            seen.setdefault(key, []).append(len(ports))
        ports.append((where, port))


_PortKey = tuple[Any, ...]
"""The first fields of a port: its number and protocol, its port of the host, its address there."""


def _keys(port: Object) -> tuple[_PortKey, ...]:
    own = port["containerPort"], port.get("protocol")
    host = port.get("hostPort", 0)
    return own, (*own, host), (*own, host, port.get("hostIP", ""))


def _related(port: Object) -> tuple[_PortKey, ...]:
    """Return the keys of ports that contradict a port."""
    own, of_host, of_address = _keys(port)
    *_, host, address = of_address
    if not host:
        return (own,)
    unset = (*own, 0)
    return (unset, of_address, (*of_host, "")) if address else (unset, of_host)


def _relation(port: Object, other: Object) -> str:
    """Return how two definitions of a port contradict each other."""
    if _keys(port)[-1] == _keys(other)[-1]:
        return "duplicate"
    if not (port.get("hostPort") and other.get("hostPort")):
        return "overlapping"
    return "dangerously ambiguous"


def _shown(port: Object) -> str:
    """Return a port as Go prints a struct."""
    fields = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    values = ((field, port.get(field, 0 if "Port" in field else "")) for field in fields)
    return f"{{{' '.join(f'{field[0].upper()}{field[1:]}:{value}' for field, value in values)}}}"


def _duplicate_port_names(spec: Object, path: str) -> Iterator[str]:
    names: dict[str, str] = {}
    for where, port in _all_ports(spec, path):
        if not (name := port.get("name")):
            continue
        if name in names:
            yield (
                f'{where}: duplicate port name "{name}" with {names[name]}, services '
                f"and probes that select ports by name will use {names[name]}"
            )
        else:
            names[name] = where
