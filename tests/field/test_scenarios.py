"""FIELD-01 to FIELD-37: this library's informer survives what ends others.

Each scenario is named with its row. ``make field-peers`` runs the same ones against the official
client. What cannot be told from outside is in the other files beside this one.
"""

from __future__ import annotations

from functools import partial

import pytest

from clientgo.cache import DELTA_FIFO, REAL_FIFO, QueueChoice
from tests.field.clientgo_subject import ClientgoSubject
from tests.field.scenario import Field, Scenario
from tests.field.scenarios import all_scenarios

QUEUE_MATTERS = {"consistency", "handlers", "objects", "resyncs"}
"""Themes that are about what goes through the queue, and not only about requests."""


@pytest.mark.parametrize("scenario", all_scenarios(), ids=str)
def test_it_survives(scenario: Scenario):
    survive(scenario, DELTA_FIFO)


@pytest.mark.parametrize(
    "scenario", [each for each in all_scenarios() if each.theme in QUEUE_MATTERS], ids=str
)
def test_it_survives_on_the_other_queue(scenario: Scenario):
    survive(scenario, REAL_FIFO)


def survive(scenario: Scenario, queue: QueueChoice) -> None:
    with Field(partial(ClientgoSubject, queue=queue)) as field:
        scenario.run(field)
    field.ends()
