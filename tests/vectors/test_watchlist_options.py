"""List options become those of a streamed list as in client-go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.cache import watch_list_options
from clientgo.meta import ListOptions
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("watchlist_options"))
def test_watch_list_options_are_those_recorded(case: dict[str, Any]) -> None:
    if not case["config"]["feature_gates"]["WatchListClient"]:
        pytest.skip("whether to stream at all is decided by the reflector's caller")
    for step in case["steps"]:
        recorded = step["args"]["options"]
        options = ListOptions(
            **{"continue_" if key == "continue" else key: value for key, value in recorded.items()}
        )
        result = watch_list_options(options)
        assert (result is not None) is step["expect"]["supported"]
        if result is not None:
            # That it is a watch is said by whom it is given to.
            expected = step["expect"]["result"]
            assert expected.pop("watch") is True
            fields = msgspec.structs.asdict(result)
            assert {name: value for name, value in fields.items() if value} == expected
