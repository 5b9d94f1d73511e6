"""A known number of pieces of work, done in several threads.

Promises: each piece is done once; the call returns when every thread has ended; after a stop, or
after a piece has raised, no further piece begins. There is no order among pieces.

Differs from client-go (util/workqueue, `ParallelizeUntil`): the first exception is raised to the
caller instead of ending the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from clientgo.util.process import SupervisedThread, start_threads


def parallelize_until(
    stop: threading.Event | None,
    workers: int,
    pieces: int,
    fn: Callable[[int], object],
    *,
    chunk_size: int = 1,
) -> None:
    """Call ``fn(i)`` once for each i in ``range(pieces)``, from up to `workers` threads.

    Blocks. Returns early, without an error, when `stop` is set. Raises the first exception that a
    call raised, ValueError if there is no worker, and ThreadStartError if one cannot be started:
    then no piece was done.

    Source: k8s.io/client-go/util/workqueue, ParallelizeUntil.
    """
    if workers < 1:
        raise ValueError(f"parallelize_until needs at least one worker, got {workers}")
    chunk_size = max(chunk_size, 1)
    starts = range(0, pieces, chunk_size)
    chunks = (range(start, min(start + chunk_size, pieces)) for start in starts)
    lock = threading.Lock()
    failures: list[BaseException] = []

    def finished() -> bool:
        return bool(failures) or (stop is not None and stop.is_set())

    def work() -> None:
        while not finished():
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                return
            for piece in chunk:
                if finished():
                    return
                try:
                    fn(piece)
                except BaseException as failure:  # noqa: BLE001 - raised again by the caller
                    failures.append(failure)

    threads = [
        SupervisedThread(work, name=f"parallelize-{number}", then="its piece is not done")
        for number in range(min(workers, len(starts)))
    ]
    start_threads(threads)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
