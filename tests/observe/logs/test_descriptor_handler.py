"""Logging to a pipe that is not read."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from clientgo.observe.logs import DescriptorHandler


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def log(handler: DescriptorHandler, message: str) -> None:
    handler.handle(logging.LogRecord("a", logging.WARNING, "", 0, message, None, None))


def test_lines_are_written(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    handler = DescriptorHandler(writer)

    log(handler, "one")
    log(handler, "\ud800" + "x" * 10_000)

    assert os.read(reader, 1 << 16) == b"one\n\\ud800" + b"x" * 10_000 + b"\n"


@pytest.mark.parametrize("length", [100, 10_000])
def test_what_is_not_read_is_dropped_and_counted(pipe: tuple[int, int], length: int) -> None:
    reader, writer = pipe
    handler = DescriptorHandler(writer)
    for _ in range(2_000):
        log(handler, "x" * length)
    held = os.read(reader, 1 << 20)
    assert 0 < held.count(b"\n") < 2_000

    log(handler, "end")

    note, end = os.read(reader, 1 << 16).splitlines()[-2:]
    assert note == b"(%d log lines were dropped: they were not read)" % (2_000 - held.count(b"\n"))
    assert end == b"end"


def test_a_closed_descriptor_is_no_error(pipe: tuple[int, int]) -> None:
    closed = os.dup(pipe[1])
    os.close(closed)

    log(DescriptorHandler(closed), "one")
