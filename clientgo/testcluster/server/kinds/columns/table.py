"""The table of columns in ``columns.txt``, and the cell functions that it names.

Differs from upstream (``pkg/printers/internalversion/printers.go``), where each kind has a function
that fills a row: here a kind is a part of a text, and a column a function of the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from msgspec.structs import replace

from clientgo.testcluster.server.kinds.columns import (
    cluster,
    network,
    pods,
    policy,
    readers,
    storage,
    workloads,
)
from clientgo.testcluster.server.resources.columns import AGE, CREATED_AT, NAME, CellReader, Column

_USUAL = {column.name: column for column in (NAME, AGE, CREATED_AT)}
_WIDE = 1

_MODULES = {
    "cluster": cluster,
    "network": network,
    "pods": pods,
    "policy": policy,
    "storage": storage,
    "workloads": workloads,
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
    name, kind, form, *_ = (*header.removeprefix("+").split(":"), "", "")
    column = _USUAL.get(name) or Column(name, kind or "string", readers.text(name), form)
    if parts:
        column = replace(column, cell=_cell(parts[0]))
    if len(parts) > 1:
        column = replace(column, description=parts[1])
    yield replace(column, priority=_WIDE) if is_wide else column


def _cell(text: str) -> CellReader:
    name, *arguments = text.split()
    module, dot, function = name.rpartition(".")
    found = getattr(_MODULES[module] if dot else readers, function)
    cell: CellReader = found(*arguments) if arguments else found
    return cell


def _containers(path: str) -> Iterator[Column]:
    """Yield names and images of the containers of a pod's spec; wide, but for pod templates."""
    priority = 0 if path == "template.spec" else _WIDE
    for name, field, description in (
        ("Containers", "name", "Names of the containers."),
        ("Images", "image", "Images of the containers."),
    ):
        cell = readers.names_of(f"{path}.containers", field)
        yield Column(name, "string", cell, description=description, priority=priority)
