"""The columns of a Table: a name, a type, and a function that reads the cell from an object.

Upstream: ``pkg/printers`` and apiextensions ``tableconvertor``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from clientgo.testcluster.server.storage.storage import Object

CellReader = Callable[[Object], Any]


class Column(msgspec.Struct, frozen=True):
    """A column of a Table; with a ``priority`` above 0 it is shown in wide output only."""

    name: str
    type: str
    cell: CellReader
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        """Return the column as ``columnDefinitions`` has it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def name_cell(obj: Object) -> Any:
    """Return the object's name."""
    return obj["metadata"].get("name", "")


def age_cell(obj: Object) -> Any:
    """Return the time since the object was created."""
    return age_since(obj["metadata"].get("creationTimestamp"))


def age_since(timestamp: str | None) -> str:
    """Return the time since a timestamp, as kubectl writes it."""
    if not timestamp:
        return "<unknown>"
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    return human_duration((datetime.now(UTC) - then).total_seconds())


def human_duration(seconds: float) -> str:
    """Return a duration in at most two units: 42s, 3m7s, 5h, 2d4h, 3y."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return _two_units(minutes, "m", total % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two_units(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    years = days // 365
    return _two_units(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two_units(coarse: int, coarse_unit: str, fine: int, fine_unit: str) -> str:
    return f"{coarse}{coarse_unit}{fine}{fine_unit}" if fine else f"{coarse}{coarse_unit}"


NAME = Column(
    "Name",
    "string",
    name_cell,
    "name",
    "Name must be unique within a namespace.",
)
CREATED_AT = Column(
    "Created At",
    "date",
    lambda obj: obj["metadata"].get("creationTimestamp"),
    description="CreationTimestamp is a timestamp representing the server time when this object "
    "was created.",
)
AGE = Column("Age", "string", age_cell, description=CREATED_AT.description)
