"""The shared informer behaves as client-go's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vectors.informer_differences import informer_steps
from tests.vectors.informer_replay import InformerReplay
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("shared_informer"))
def test_informer_behaves_as_recorded(case: dict[str, Any]) -> None:
    """CTL-05 to CTL-09, INF-01 to INF-20, RSY-06, LIS-02."""
    InformerReplay(case["config"], with_times=False).run(informer_steps(case))


@pytest.mark.parametrize("case", params("resync_periods"))
def test_handlers_are_resynced_when_recorded(case: dict[str, Any]) -> None:
    """RSY-01 to RSY-06."""
    InformerReplay(case["config"], with_times=True).run(informer_steps(case))
