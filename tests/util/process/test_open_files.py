"""How many files a process may open."""

from __future__ import annotations

import os
import resource
import tempfile

import pytest

from clientgo.util.process import files_left, raise_file_limit

_NO_LIMIT = resource.RLIM_INFINITY


def test_each_open_file_leaves_one_less() -> None:
    before = files_left()

    with tempfile.TemporaryFile():
        assert files_left() == before - 1


def test_none_are_left_if_not_even_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> list[str]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "listdir", fail)
    assert files_left() == 0


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((256, 10_000), [(4096, 10_000)]),
        ((256, _NO_LIMIT), [(4096, _NO_LIMIT)]),
        ((256, 1024), [(1024, 1024)]),
        ((1024, 1024), []),
        ((8192, 10_000), []),
        ((_NO_LIMIT, _NO_LIMIT), []),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_lets_it(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: list[tuple[int, int]]
) -> None:
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: done.append(new))

    raise_file_limit(4096)

    assert done == raised


def test_a_lower_limit_of_the_system_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int, __: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, _NO_LIMIT))
    monkeypatch.setattr(resource, "setrlimit", fail)

    raise_file_limit(4096)
