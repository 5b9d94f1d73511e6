"""The lines of a piece of work carry its fields, whoever writes them."""

from __future__ import annotations

import contextvars
import io
import logging
from collections.abc import Iterator

import pytest

from clientgo.observe.logs import ContextFilter, TextFormatter, current_fields, log_context
from tests.background import Background


class Lines:
    """A logger of its own, and what it wrote."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.addFilter(ContextFilter())
        handler.setFormatter(TextFormatter())
        self.log = logging.Logger("program")
        self.log.addHandler(handler)

    def last(self) -> str:
        """The last line from its logger on."""
        return self._stream.getvalue().splitlines()[-1].partition(" INFO ")[2]


@pytest.fixture
def lines() -> Iterator[Lines]:
    return Lines()


def test_a_line_carries_the_fields_of_its_work(lines: Lines) -> None:
    with log_context(controller="foo", key="default/a"):
        lines.log.info("synced")

    assert lines.last() == "program: synced controller=foo key=default/a"


def test_the_fields_end_with_the_block_even_if_it_fails(lines: Lines) -> None:
    with pytest.raises(ValueError, match="bug"), log_context(key="default/a"):
        raise ValueError("bug")
    lines.log.info("next")

    assert lines.last() == "program: next"


def test_the_inner_block_wins_and_the_outer_one_comes_back(lines: Lines) -> None:
    with log_context(key="a", controller="foo"):
        with log_context(key="b"):
            assert current_fields() == {"key": "b", "controller": "foo"}
        assert current_fields() == {"key": "a", "controller": "foo"}


def test_what_a_line_says_itself_wins(lines: Lines) -> None:
    with log_context(key="a"):
        lines.log.info("moved", extra={"key": "b"})

    assert lines.last() == "program: moved key=b"


def test_another_thread_has_them_only_in_a_copy_of_the_context() -> None:
    with log_context(key="a"):
        plain = Background(current_fields).result()
        context = contextvars.copy_context()
    copied = Background(lambda: context.run(current_fields)).result()

    assert (dict(plain), dict(copied)) == ({}, {"key": "a"})
