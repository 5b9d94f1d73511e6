"""Deep copies of the values of API objects."""

from __future__ import annotations

import enum
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import Model
from clientgo.meta.objects.copying import copy_value


class Part(Model):
    size: int
    held: Any = None


class Frozen(Model, frozen=True):
    held: Any


class Mode(enum.Enum):
    ON = "On"


class Own:
    """What only `copy.deepcopy` knows how to copy."""

    def __init__(self, held: list[int]) -> None:
        self.held = held


SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.just(Mode.ON)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
        | st.builds(Part, size=st.integers(), held=inner)
        | st.builds(Frozen, held=inner)
    ),
    max_leaves=20,
)


def mutable_parts(value: Any) -> list[Any]:
    """The lists, dicts and Structs of a tree."""
    if isinstance(value, list | tuple):
        held = list(value)
    elif isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, Part | Frozen):
        held = [value.held]
    else:
        return []
    return [value, *(part for item in held for part in mutable_parts(item))]


@given(TREES)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(tree: Any) -> None:
    duplicate = copy_value(tree)

    assert duplicate == tree
    ours = {id(part) for part in mutable_parts(duplicate) if not isinstance(part, tuple)}
    assert ours.isdisjoint(id(part) for part in mutable_parts(tree))


def test_other_objects_are_copied_with_what_they_hold() -> None:
    original = Part(size=1, held=[Own([1])])

    copy_value(original).held[0].held.append(2)

    assert original.held[0].held == [1]
