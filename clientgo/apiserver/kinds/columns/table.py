"""The table of columns in ``columns.txt``, and the cell functions that it names.

Differs from upstream (``pkg/printers/internalversion/printers.go``), where each kind has a function
that fills a row: here a kind is a part of a text, and a column a function of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from clientgo.apiserver.kinds.columns import cluster, network, pods, policy, readers, storage
from clientgo.apiserver.kinds.columns import workloads as work
from clientgo.apiserver.resources.columns import AGE, CREATED_AT, NAME, CellReader, Column

_USUAL = {column.name: column for column in (NAME, AGE, CREATED_AT)}
_WIDE = 1

_READERS: Mapping[str, Callable[..., CellReader]] = {
    "access_modes": storage.access_modes,
    "age": readers.age,
    "binding_subjects": policy.binding_subjects,
    "count": readers.count,
    "fraction": readers.fraction,
    "healthy": cluster.healthy,
    "joined": readers.joined,
    "node_address": cluster.node_address,
    "number": readers.number,
    "selector": readers.selector,
    "text": readers.text,
    "truth": readers.truth,
    "yes_or_no": readers.yes_or_no,
}
"""Functions that return a cell function for their arguments."""

_CELLS: Mapping[str, CellReader] = {
    "address_parent": network.address_parent,
    "api_available": policy.api_available,
    "api_service": policy.api_service,
    "binding_role": policy.binding_role,
    "class_parameters": network.class_parameters,
    "driver_audiences": storage.driver_audiences,
    "driver_modes": storage.driver_modes,
    "endpoints": network.endpoint_addresses,
    "event_count": cluster.event_count,
    "event_first_seen": cluster.event_first_seen,
    "event_last_seen": cluster.event_last_seen,
    "event_message": cluster.event_message,
    "event_object": cluster.event_object,
    "event_source": cluster.event_source,
    "event_subobject": cluster.event_subobject,
    "ingress_addresses": network.ingress_addresses,
    "ingress_hosts": network.ingress_hosts,
    "ingress_ports": network.ingress_ports,
    "job_completions": work.job_completions,
    "job_duration": work.job_duration,
    "job_status": work.job_status,
    "metric_targets": work.metric_targets,
    "node_roles": cluster.node_roles,
    "node_status": cluster.node_status,
    "pod_address": pods.pod_address,
    "pod_readiness_gates": pods.pod_readiness_gates,
    "pod_ready": pods.pod_ready,
    "pod_restarts": pods.pod_restarts,
    "pod_status": pods.pod_status,
    "policy_param_kind": policy.policy_param_kind,
    "policy_param_ref": policy.policy_param_ref,
    "quota_limits": cluster.quota_limits,
    "quota_requests": cluster.quota_requests,
    "revision_controller": work.revision_controller,
    "scale_target": work.scale_target,
    "service_external_ip": network.service_external_ip,
    "service_ports": network.service_ports,
    "slice_addresses": network.slice_addresses,
    "slice_ports": network.slice_ports,
    "storage_class_name": storage.storage_class_name,
    "volume_claim": storage.volume_claim,
    "volume_phase": storage.volume_phase,
}


def columns_for(api_version: str, plural: str) -> tuple[Column, ...]:
    """Return the columns of a built-in resource; name and creation time if it has none."""
    return _table().get(f"{api_version}/{plural}", (NAME, CREATED_AT))


@cache
def _table() -> Mapping[str, tuple[Column, ...]]:
    table: dict[str, list[Column]] = {}
    columns: list[Column] = []
    for line in files(__package__).joinpath("columns.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            columns += _columns(line.strip())
        elif line and not line.startswith("#"):
            columns = []
            table.update(dict.fromkeys(line.split(), columns))
    return {resource: tuple(columns) for resource, columns in table.items()}


def _columns(line: str) -> Iterator[Column]:
    """Yield the column of a line; two for ``*containers``."""
    if line.startswith("*"):
        yield from _containers(line.split()[1])
        return
    header, *parts = (part.strip() for part in line.split("|"))
    is_wide = header.startswith("+")
    name, _, kind = header.removeprefix("+").partition(":")
    column = _USUAL.get(name) or Column(name, kind or "string", readers.text(name))
    if parts:
        column = replace(column, cell=_cell(parts[0]))
    if len(parts) > 1:
        column = replace(column, description=parts[1])
    yield replace(column, priority=_WIDE) if is_wide else column


def _cell(text: str) -> CellReader:
    name, *arguments = text.split()
    return _READERS[name](*arguments) if arguments else _CELLS[name]


def _containers(path: str) -> Iterator[Column]:
    """Yield names and images of the containers of a pod's spec; wide, but for pod templates."""
    priority = 0 if path == "template.spec" else _WIDE
    for name, field, description in (
        ("Containers", "name", "Names of the containers."),
        ("Images", "image", "Images of the containers."),
    ):
        cell = readers.names_of(f"{path}.containers", field)
        yield Column(name, "string", cell, description=description, priority=priority)
