"""The states of a queue's items, and their repair."""

from __future__ import annotations

import pytest

from clientgo.workqueue import FIFO
from clientgo.workqueue.orderings.ordering import NOTHING
from clientgo.workqueue.states import DIRTY, PROCESSING, READY, Items, State


def items_of(states: dict[str, State], listed: str) -> Items[str]:
    items = Items[str]("foos", FIFO(listed))
    items.states.update(states)
    return items


@pytest.mark.parametrize(
    ("states", "listed", "taken", "repaired", "order"),
    [
        pytest.param(
            {"a": READY, "b": PROCESSING, "c": DIRTY},
            "a",
            NOTHING,
            {"a": READY, "b": PROCESSING, "c": DIRTY},
            "a",
            id="nothing to repair",
        ),
        pytest.param({"b": READY}, "ba", NOTHING, {"a": READY, "b": READY}, "ba", id="listed only"),
        pytest.param(
            {"a": READY, "b": READY}, "b", NOTHING, {"a": READY, "b": READY}, "ba", id="state only"
        ),
        pytest.param(
            {"a": PROCESSING, "b": READY}, "b", "a", {"a": READY, "b": READY}, "ba", id="taken"
        ),
        pytest.param({"a": DIRTY}, "", "a", {"a": READY}, "a", id="taken, and added again"),
        pytest.param({"b": READY}, "b", "a", {"b": READY}, "b", id="taken, and given back"),
    ],
)
def test_a_repair_makes_states_and_order_agree(
    states: dict[str, State], listed: str, taken: str, repaired: dict[str, State], order: str
) -> None:
    items = items_of(states, listed)

    items.repair(taken)

    assert items.states == repaired
    assert "".join(items.ready) == order  # type: ignore[call-overload]


def test_a_repair_drops_an_item_that_the_ordering_refuses_and_lists_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Picky(FIFO[str]):
        def push(self, item: str, /) -> None:
            if item == "a":
                raise ValueError(item)
            super().append(item)

    items = Items[str]("foos", Picky())
    items.states.update({"a": READY, "b": READY})

    items.repair()

    assert items.states == {"b": READY}
    assert list(items.ready) == ["b"]  # type: ignore[call-overload]
    assert "work queue 'foos': the item 'a' is dropped" in caplog.text


def test_items_are_counted_by_state_and_known_while_they_are_processed() -> None:
    items = items_of({"a": READY, "b": PROCESSING, "c": DIRTY, "d": DIRTY}, "a")

    assert [items.count(state) for state in (READY, PROCESSING, DIRTY)] == [1, 1, 2]
    assert items.processed() == ["b", "c", "d"]
