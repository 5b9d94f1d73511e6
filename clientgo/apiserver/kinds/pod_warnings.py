"""Warnings about pods that are accepted and probably wrong.

Promises the warnings that authors meet: duplicate ports, variables, host aliases and pull secrets,
fractions of bytes, negative grace periods.

Upstream: ``pkg/api/pod/warnings.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.storage.storage import Object
from clientgo.text.quantities import parse_quantity

_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(spec: Object, path: str) -> list[str]:
    """Return the warnings about the spec of a pod at a path."""
    return [
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
        where = f"{path}.imagePullSecrets[{index}]"
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
        name = variable["name"]
        if name in seen:
            where = f"{path}.env[{index}]"
            yield (
                f'{where}: hides previous definition of "{name}", which may be dropped when using '
                "apply"
            )
        seen.add(name)
    resources = container.get("resources") or {}
    for part in ("requests", "limits"):
        for name, amount in (resources.get(part) or {}).items():
            if name in _BYTES and parse_quantity(amount) % 1:
                yield (
                    f'{path}.resources.{part}[{name}]: fractional byte value "{amount}" is '
                    "invalid, must be an integer"
                )


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
