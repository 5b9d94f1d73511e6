"""The lines of a piece of work carry its fields, whoever writes them."""

from __future__ import annotations

import contextvars
import io
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

import pytest

from clientgo.observe.logs import ContextFilter, TextFormatter, current_fields, log_context
from clientgo.util.process import SupervisedThread


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


def test_a_thread_of_the_library_has_them_only_in_a_copy_of_the_context() -> None:
    with log_context(key="a"):
        plain = fields_in_thread(current_fields)
        copied = fields_in_thread(contextvars.copy_context().run, current_fields)

    assert (plain, copied) == ({}, {"key": "a"})


def test_it_has_none_where_threads_inherit_the_context() -> None:
    """Free-threaded CPython does so by default; the option is ignored before CPython 3.14."""
    program = """if True:
        from clientgo.observe.logs import current_fields, log_context
        from clientgo.util.process import SupervisedThread

        def show():
            print(dict(current_fields()))

        with log_context(key="a"):
            SupervisedThread.started(show, name="reader", then="nothing is read").join()
    """
    command = [sys.executable, "-X", "thread_inherit_context=1", "-c", program]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "{}\n"


def fields_in_thread(read: Callable[..., Mapping[str, object]], *args: object) -> dict[str, object]:
    found: list[Mapping[str, object]] = []
    SupervisedThread.started(
        lambda: found.append(read(*args)), name="reader", then="nothing is read"
    ).join()
    return dict(found[0])
