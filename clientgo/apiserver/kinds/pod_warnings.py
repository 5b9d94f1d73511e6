"""Warnings about pods that are accepted and probably wrong.

Promises the warnings that authors meet: names that are no hostnames, duplicate ports, variables,
host aliases and pull secrets, overlapping paths of volumes, fractions of bytes, selectors that
select nothing, negative grace periods.

Upstream: ``pkg/api/pod/warnings.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.resources.names import DNS_LABEL
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.text.quantities import is_whole

_BYTES = ("memory", "ephemeral-storage")


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


def pod_warnings(spec: Object, path: str) -> list[str]:
    """Return the warnings about the spec of a pod at a path."""
    key = value_key([path, spec])
    found: list[str] | None = _known.result(key)
    if found is None:
        found = _find_warnings(spec, path)
        _known.remember(key, found)
    return found


def _find_warnings(spec: Object, path: str) -> list[str]:
    return [
        *_null_selectors(spec, path),
        *_old_volumes(spec, path),
        *_overlapping_paths(spec),
        *_duplicate_aliases(spec, path),
        *_pull_secrets(spec, path),
        *_grace_period(spec, path),
        *(text for where, item in _containers(spec, path) for text in _container(item, where)),
        *_duplicate_ports(spec, path),
    ]


def _containers(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


_NULL_SELECTOR = "labelSelector: a null labelSelector results in matching no pod"


def _null_selectors(spec: Object, path: str) -> Iterator[str]:
    """Yield a warning for each term that selects no pod."""
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if "labelSelector" not in constraint:
            yield f"{path}.topologySpreadConstraints[{index}].{_NULL_SELECTOR}"
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        for need, step in (("required", ""), ("preferred", "podAffinityTerm")):
            field = f"{need}DuringSchedulingIgnoredDuringExecution"
            for index, term in enumerate(affinity.get(field) or ()):
                if "labelSelector" not in (term.get(step, {}) if step else term):
                    where = f"{path}.affinity.{kind}.{field}[{index}]"
                    yield ".".join(filter(None, (where, step, _NULL_SELECTOR)))


_OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageOS": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


def _old_volumes(spec: Object, path: str) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        where = f"{path}.volumes[{index}]"
        for source, what in _OLD_VOLUMES.items():
            if source in volume or (source == "storageOS" and "storageos" in volume):
                yield f"{where}.{source}: {what}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        of_claim = f"{where}.ephemeral.volumeClaimTemplate.spec"
        yield from claim_warnings(template.get("spec") or {}, of_claim)


def claim_warnings(spec: Object, path: str) -> Iterator[str]:
    """Yield a warning for a fraction of bytes that a claim asks for."""
    amounts = (spec.get("resources") or {}).get("requests") or {}
    yield from _fractions({"requests": amounts}, f"{path}.resources", ("storage",))


def _fractions(resources: Object, path: str, names: tuple[str, ...]) -> Iterator[str]:
    for part in ("requests", "limits"):
        for name, amount in (resources.get(part) or {}).items():
            if name in names and not is_whole(amount):
                yield (
                    f'{path}.{part}[{name}]: fractional byte value "{amount}" is invalid, must be '
                    "an integer"
                )


def _overlapping_paths(spec: Object) -> Iterator[str]:
    """Yield a warning for each two files of a volume of which one would replace the other."""
    for volume in spec.get("volumes") or ():
        name = volume.get("name", "")
        for kind, field in (("ConfigMap", "name"), ("Secret", "secretName"), ("DownwardAPI", "")):
            source = volume.get(kind[0].lower() + kind[1:]) or {}
            said = f'{kind} "{source.get(field, "")}"' if field else kind
            files = [item.get("path", "") for item in source.get("items") or ()]
            yield from _overlaps(files, f'volume "{name}" ({said}): overlapping paths')
        seen: set[str] = set()
        for source in (volume.get("projected") or {}).get("sources") or ():
            if not source:
                yield f'volume "{name}" (Projected) has no sources provided'
                continue
            said, files = _projected_files(source)
            message = f'volume "{name}" (Projected {said}): overlapping paths'
            yield from _overlaps(files, message)
            if files:
                yield from _overlaps(sorted([*set(files), *seen]), message)
            seen.update(files)


def _projected_files(source: Object) -> tuple[str, list[str]]:
    """Return a name of a source of a projected volume, and the paths of its files."""
    for kind in ("configMap", "secret", "downwardAPI"):
        if items := (source.get(kind) or {}).get("items"):
            title = kind[0].upper() + kind[1:]
            name = "" if kind == "downwardAPI" else f' "{source[kind].get("name", "")}"'
            return f"{title}{name}", [item.get("path", "") for item in items]
    if token := source.get("serviceAccountToken"):
        return "ServiceAccountToken", [token.get("path", "")]
    if bundle := source.get("clusterTrustBundle"):
        named = bundle.get("name") or bundle.get("signerName", "")
        return f'ClusterTrustBundle "{named}"', [bundle.get("path", "")]
    return "", []


def _overlaps(paths: list[str], message: str) -> Iterator[str]:
    seen: list[str] = []
    for path in (path.rstrip("/") for path in paths):
        for other in seen:
            if path and other and (f"{other}/".startswith(path) or f"{path}/".startswith(other)):
                yield f'{message}: "{path}" with "{other}"'
                break
        if path not in seen:
            seen.append(path)


def _duplicate_aliases(spec: Object, path: str) -> Iterator[str]:
    seen = set()
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        if alias["ip"] in seen:
            yield f'{path}.hostAliases[{index}].ip: duplicate ip "{alias["ip"]}"'
        seen.add(alias["ip"])


def _pull_secrets(spec: Object, path: str) -> Iterator[str]:
    seen = set()
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        name = secret.get("name", "")
        where = f"{path}.imagePullSecrets[{index}].name"
        if not name:
            yield f'{where}: invalid empty name ""'
        elif name in seen:
            yield f'{where}: duplicate name "{name}"'
        seen.add(name)


def _grace_period(spec: Object, path: str) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        where = f"{path}.terminationGracePeriodSeconds"
        yield f"{where}: must be >= 0; negative values are invalid and will be treated as 1"


def _container(container: Object, path: str) -> Iterator[str]:
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
    yield from _fractions(container.get("resources") or {}, f"{path}.resources", _BYTES)


def _duplicate_ports(spec: Object, path: str) -> Iterator[str]:
    ports: dict[tuple[Any, ...], str] = {}
    names: dict[str, str] = {}
    for field in ("initContainers", "containers"):
        for place, container in enumerate(spec.get(field) or ()):
            if field == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            own_names = {}
            for index, port in enumerate(container.get("ports") or ()):
                where = f"{path}.{field}[{place}].ports[{index}]"
                host = (port.get("hostPort", 0), port.get("hostIP", ""))
                key = (port["containerPort"], port.get("protocol"), host)
                if key in ports:
                    yield f"{where}: duplicate port definition with {ports[key]}"
                else:
                    ports[key] = where
                if name := port.get("name"):
                    if name in names:
                        yield (
                            f'{where}: duplicate port name "{name}" with {names[name]}, services '
                            f"and probes that select ports by name will use {names[name]}"
                        )
                    else:
                        own_names[name] = where
            names |= own_names
