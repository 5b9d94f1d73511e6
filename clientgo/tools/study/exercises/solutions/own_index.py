"""Exercise 6: an index of your own.

Find the Foos of a team. ``foos_of`` looks at every Foo, which is slow with a hundred thousand of
them. The cache can keep an index: write the function that says under which values it finds a Foo,
and use the index, which is called ``team``.

Run: clientgo study check 6
"""

from __future__ import annotations

from clientgo.cache import Indexer
from clientgo.tools.study.exercises import Foo


def by_team(foo: Foo) -> list[str]:
    """The values under which the index ``team`` finds a Foo."""
    return [foo.spec.team]


def foos_of(indexer: Indexer[Foo], team: str) -> list[Foo]:
    """The Foos of a team."""
    return indexer.by_index("team", team)
