"""Worker threads for a queue: the loop that every controller writes, written once.

Promises that each key is handled by one worker at a time, that a key whose handling raises is
tried again with the queue's back-off, and that :func:`run_workers` returns only when every worker
has ended. Does not limit how often a key is retried; a handler that wants no retry returns.

Upstream has no such function: controllers copy the loop (``processNextWorkItem``) from the sample.
``sample_controller.controller`` shows it by hand.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from clientgo.workqueue.rate_limiting import RateLimitingQueue

T = TypeVar("T", bound=Hashable)

log = logging.getLogger(__name__)


def run_workers(
    stop: threading.Event,
    queue: RateLimitingQueue[T],
    handle: Callable[[T], object],
    *,
    workers: int = 1,
    name: str = "worker",
) -> None:
    """Take keys and handle them until ``stop`` is set; then shut the queue down and return.

    Blocks. Keys that wait in the queue when it is shut down are still handled, delayed ones are
    not. Raises ``ValueError`` for fewer than one worker.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    threads = [
        threading.Thread(target=_work, args=(queue, handle), name=f"{name}-{number}", daemon=True)
        for number in range(1, workers + 1)
    ]
    for thread in threads:
        thread.start()
    try:
        stop.wait()
    finally:
        queue.shut_down()
        for thread in threads:
            thread.join()


def _work(queue: RateLimitingQueue[T], handle: Callable[[T], object]) -> None:
    while True:
        key, shutting_down = queue.get()
        if shutting_down:
            return
        try:
            handle(key)
        except Exception as error:  # one key's failure must not end the worker
            log.warning(
                "%s: %s: %s; trying again later (failure %d)",
                key,
                type(error).__name__,
                error,
                queue.num_requeues(key) + 1,
                exc_info=log.isEnabledFor(logging.DEBUG),
            )
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
