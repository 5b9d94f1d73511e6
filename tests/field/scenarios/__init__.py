"""Every scenario of the field; importing this registers them all, in the order of their rows."""

from tests.field.scenario import SCENARIOS, Scenario
from tests.field.scenarios import (
    answers,
    connections,
    consistency,
    failures,
    handlers,
    objects,
    resyncs,
    stopping,
)

__all__ = ["all_scenarios"]

_MODULES = (consistency, failures, handlers, connections, objects, resyncs, stopping, answers)


def all_scenarios() -> list[Scenario]:
    """In the order of their rows, and within a row as they are written."""
    return sorted(SCENARIOS, key=lambda scenario: scenario.row)
