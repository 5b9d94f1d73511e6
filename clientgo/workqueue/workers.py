"""Worker threads for a queue: the loop that every controller needs.

Promises: one worker at a time handles a key; a key whose handling raises is tried again with the
queue's back-off, and logged when its situation changes; after a stop no further key is handled,
unless `drain` asks for it; `run_workers` returns when every worker has ended. A handler that raises
`NotReadyError` has not failed: its key is tried again with the same back-off.

Does not interrupt a running handler, nor limit retries: a handler that wants none returns.

In client-go controllers copy this loop (`processNextWorkItem`) from the sample.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, TypeVar

from clientgo.util.process import SupervisedThread, ThreadStartError, start_threads
from clientgo.util.wait import NotReadyError, StopEvent, call_when_set
from clientgo.workqueue.rate_limiting import RateLimitingQueue

T = TypeVar("T", bound=Hashable)

_log = logging.getLogger("clientgo.workqueue")

PATIENCE: Final = 10.0
"""Seconds until a stop that waits for handlers is logged; then after twice as long each."""

LONG_WAIT: Final = 10
"""So many tries of a key that is not ready are logged; with the default limiter 5 s after the
first."""


def run_workers(
    stop: threading.Event,
    queue: RateLimitingQueue[T],
    handle: Callable[[T], object],
    *,
    workers: int = 1,
    name: str = "worker",
    guard: Callable[[], object] | None = None,
    drain: bool = False,
    expected: tuple[type[Exception], ...] = (),
) -> None:
    """Handle keys until `stop` is set; then shut the queue down and return.

    Keys that no worker has taken by then are dropped, and logged as a number; with `drain` those
    that are listed are still handled. Delayed keys are dropped in any case. A handler that takes
    longer than :data:`PATIENCE` seconds to return after the stop is logged with its key.

    `guard` is called before each key and raises if the key must not be handled any more. A leader
    passes the `check` of its leadership::

        run_workers(leadership.stop, queue, sync, guard=leadership.check)

    A key whose handling raises is added again, rate-limited, and the failure is logged as a
    warning. ``expected`` are errors that happen in normal work, such as conflicts with a cache
    that is behind: they are logged at INFO, without a traceback. A key whose handling raises
    :class:`~clientgo.util.wait.NotReadyError` is added again as well, and is no failure: it is
    logged as a warning only after every :data:`LONG_WAIT` tries.

    Blocks. Raises ThreadStartError if a worker cannot be started; then nothing was handled and the
    queue is open. Raises what `guard` raised, and what `handle` raised if that is no `Exception`,
    such as the SystemExit of `sys.exit()`: the other workers finish their key first. Raises
    ValueError for fewer than one worker, and TypeError for a `handle` that must be awaited.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    if inspect.iscoroutinefunction(handle):
        raise TypeError(f"{handle!r} must be awaited; use clientgo.aio.run_workers")
    Workers(stop, queue, handle, guard, drain=drain, expected=expected).run(workers, name)


class Workers(Generic[T]):
    """The workers of one call. ``clientgo.aio`` has the same as coroutines."""

    def __init__(
        self,
        stop: threading.Event,
        queue: RateLimitingQueue[T],
        handle: Callable[[T], Any],
        guard: Callable[[], object] | None,
        *,
        drain: bool,
        expected: tuple[type[Exception], ...],
    ) -> None:
        self._stop = stop
        self._queue = queue
        self._handle = handle
        self._guard = guard
        self._drain = drain
        self._expected = expected
        self._ending = StopEvent()
        self._lock = threading.Lock()
        self._running = 0
        self._dropped = 0
        self._failing: dict[T, str] = {}  # the last failure of each key that fails
        self._failure: BaseException | None = None

    def run(self, workers: int, name: str) -> None:
        threads = [
            SupervisedThread(self._work, name=f"{name}-{number}", then="this worker has ended")
            for number in range(1, workers + 1)
        ]
        self._running = workers
        registration = call_when_set(self._stop, self._ending.set)
        try:
            start_threads(threads)
        except BaseException:
            registration.cancel()
            raise
        try:
            self._ending.wait()
        finally:
            # Also when KeyboardInterrupt is raised here: then there is no stop to wait for.
            self._ending.set()
            registration.cancel()
            self._queue.shut_down()
            self._join(threads, name)
        self._ended(name)

    def _ended(self, name: str) -> None:
        """Report the keys that were dropped; raise what ended the workers."""
        if self._dropped:
            _log.info(
                "%s: stopped before %d listed keys were handled; the next start lists them again",
                name,
                self._dropped,
            )
        if self._failure is not None:
            raise self._failure

    def _join(self, threads: Sequence[threading.Thread], name: str) -> None:
        patience = PATIENCE
        for thread in threads:
            while thread.is_alive():
                thread.join(patience)
                if thread.is_alive() and self._report_running(name):
                    patience *= 2

    def _report_running(self, name: str) -> bool:
        """Log which keys the stop waits for; return False if there is none."""
        keys = ", ".join(sorted(map(str, self._queue.processing_items())))
        if keys:
            _log.warning("%s: still handling %s; the stop waits for it", name, keys)
        return bool(keys)

    def _work(self) -> None:
        try:
            while True:
                key, shutting_down = self._queue.get()
                if shutting_down:
                    return
                try:
                    self._process(key)
                finally:
                    self._queue.done(key)
        except BaseException as failure:  # noqa: BLE001 - SystemExit must not end it silently
            self._fail(failure)
        finally:
            self._worker_ended()

    def _worker_ended(self) -> None:
        with self._lock:
            self._running -= 1
            is_last = self._running == 0
        if is_last:
            self._ending.set()

    def _process(self, key: T) -> None:
        """Handle a key, or drop it. Raises only what must end all workers."""
        if self._drops():
            return
        try:
            with self._queue.syncing(key):
                self._handle(key)
        except BaseException as error:  # noqa: BLE001 - one key's failure must not end the worker
            self._failed(key, error)
        else:
            self._succeeded(key)

    def _succeeded(self, key: T) -> None:
        if self._failing:
            self._log_recovery(key)
        self._queue.forget(key)

    def _failed(self, key: T, error: BaseException) -> None:
        """Try a key again; end all workers for what is no ``Exception``."""
        if isinstance(error, NotReadyError):
            self._log_wait(key, error)
            self._try_again(key)
        elif isinstance(error, Exception):
            self._log_failure(key, error)
            self._try_again(key)
        else:
            # Python prints nothing for a SystemExit, so the log says why the program stops.
            _log.error("%s: the handler raised %r; all workers stop", key, error)
            self._queue.add_rate_limited(key)
            self._fail(error)

    def _try_again(self, key: T) -> None:
        try:
            self._queue.add_rate_limited(key)
        except ThreadStartError as error:
            _log.warning("%s: tried again without a delay: %s", key, error)
            self._queue.add(key)

    def _log_wait(self, key: T, reason: NotReadyError) -> None:
        """Warn of a wait that takes long: what the key waits for may never come."""
        tries = self._queue.num_requeues(key) + 1
        level = logging.DEBUG if tries % LONG_WAIT else logging.WARNING
        extra = {"key": str(key)}
        _log.log(
            level, "%s: not ready: %s; trying again later (try %d)", key, reason, tries, extra=extra
        )

    def _log_failure(self, key: T, error: Exception) -> None:
        """Warn of the first failure with its traceback, and of each that differs from the last."""
        failure = f"{type(error).__name__}: {error}"
        with self._lock:
            before = self._failing.get(key)
            self._failing[key] = failure
        expected = isinstance(error, self._expected)
        first = logging.INFO if expected else logging.WARNING
        _log.log(
            logging.DEBUG if failure == before else first,
            "%s: %s; trying again later (failure %d)",
            key,
            failure,
            self._queue.num_requeues(key) + 1,
            exc_info=before is None and not expected,
            extra={"key": str(key)},
        )

    def _log_recovery(self, key: T) -> None:
        with self._lock:
            failure = self._failing.pop(key, None)
        if failure is not None:
            failures = self._queue.num_requeues(key)
            _log.info("%s: handled after %d failures", key, failures, extra={"key": str(key)})

    def _drops(self) -> bool:
        """Return True for a key that must not be handled any more, and count it."""
        if self._may_handle():
            return False
        with self._lock:
            self._dropped += 1
        return True

    def _may_handle(self) -> bool:
        if self._failure is not None:
            return False
        if not self._drain and (self._stop.is_set() or self._ending.is_set()):
            return False
        if self._guard is None:
            return True
        try:
            self._guard()
        except BaseException as refusal:  # noqa: BLE001 - raised by run_workers
            # Leadership that was given up because of the stop is no failure.
            if not self._stop.is_set():
                self._fail(refusal)
            return False
        return True

    def _fail(self, failure: BaseException) -> None:
        """End all workers; the first failure is raised by `run`."""
        with self._lock:
            self._failure = self._failure or failure
        self._ending.set()
