"""Pieces of work in several threads."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from clientgo.workqueue import parallelize_until
from tests.background import Background


@pytest.mark.parametrize(
    ("pieces", "workers", "chunk_size"),
    [(1000, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13), (3, 10, 0), (0, 5, 1)],
)
def test_every_piece_is_done_once(pieces: int, workers: int, chunk_size: int) -> None:
    """PAR-01, PAR-02, PAR-04."""
    done: Counter[int] = Counter()
    lock = threading.Lock()

    def work(piece: int) -> None:
        with lock:
            done[piece] += 1

    parallelize_until(threading.Event(), workers, pieces, work, chunk_size=chunk_size)

    assert done == Counter(range(pieces))


def test_there_are_no_more_threads_than_chunks() -> None:
    """PAR-02."""
    threads = set()

    parallelize_until(None, 50, 10, lambda _: threads.add(threading.current_thread()), chunk_size=5)

    assert 1 <= len(threads) <= 2


def test_a_stop_skips_the_pieces_that_have_not_begun() -> None:
    """PAR-03."""
    stop, done = threading.Event(), []

    def work(piece: int) -> None:
        done.append(piece)
        if piece == 4:
            stop.set()

    parallelize_until(stop, 1, 1000, work, chunk_size=100)

    assert done == [0, 1, 2, 3, 4]


def test_the_first_exception_is_raised_when_all_workers_have_ended() -> None:
    """PAR-05."""
    release, started, ended = threading.Event(), threading.Event(), []

    def work(piece: int) -> None:
        if piece == 0:
            started.set()
            release.wait(30)
            ended.append(piece)
        else:
            started.wait(30)
            raise RuntimeError(f"piece {piece}")

    running = Background(lambda: parallelize_until(None, 2, 2, work))
    started.wait(30)
    assert running.is_running
    release.set()

    with pytest.raises(RuntimeError, match="piece 1"):
        running.result()
    assert ended == [0]


def test_nobody_to_do_the_work_is_an_error() -> None:
    """PAR-05."""
    with pytest.raises(ValueError, match="at least one worker"):
        parallelize_until(None, 0, 10, lambda _: None)
