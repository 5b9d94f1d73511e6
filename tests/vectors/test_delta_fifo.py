"""DeltaFIFO does what client-go's does, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeltaFIFO
from tests.vectors.loader import params
from tests.vectors.queue_replay import QueueReplay


@pytest.mark.parametrize("case", params("delta_fifo"))
def test_delta_fifo_behaves_as_recorded(case: dict[str, Any]) -> None:
    replay = QueueReplay(case["config"])
    queue = DeltaFIFO(known_objects=replay.known_objects)
    replay.run(queue, case["steps"])
