"""RealFIFO does what client-go's does, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import RealFIFO
from tests.vectors.loader import params
from tests.vectors.queue_replay import QueueReplay


@pytest.mark.parametrize("case", params("real_fifo"))
def test_real_fifo_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case["config"]
    replay = QueueReplay(config)
    queue = RealFIFO(
        known_objects=replay.known_objects,
        emit_bookmarks=config["emit_delta_type_bookmark"],
    )
    assert config["atomic_events"] is (replay.known_objects is None)
    replay.run(queue, case["steps"])
