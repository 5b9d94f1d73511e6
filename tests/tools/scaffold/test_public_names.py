"""The names that projects import."""

from __future__ import annotations

from clientgo.tools import scaffold


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(scaffold, name) for name in scaffold.__all__)
