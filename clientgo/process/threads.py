"""Threads that do not end silently.

Promises: if the target raises anything, `SystemExit` included, the thread logs it once with what
follows, counts it, and calls `on_failure`. It does not run the target again.

Differs from client-go (apimachinery pkg/util/runtime, `HandleCrash`): a crash does not end the
process. Python itself reports nothing for `SystemExit`.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any

from clientgo.copies import uncopyable

_log = logging.getLogger("clientgo.process")

crash_handlers: list[Callable[[str, BaseException], object]] = []
"""Called, in order, with the role of a thread that failed and with its error.

`clientgo.metrics` counts failures this way. Source: client-go `util/runtime` PanicHandlers.
"""


@uncopyable("it has threads; make one in each process")
class SupervisedThread(threading.Thread):
    """A daemon thread that reports its failure.

    `then` completes the log line: what this means for the program and what to do. `on_failure` is
    called in the thread, with what the target raised; it ends what depends on the thread.
    """

    def __init__(
        self,
        target: Callable[..., object],
        *,
        args: tuple[Any, ...] = (),
        name: str,
        then: str,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> None:
        super().__init__(target=target, args=args, name=name, daemon=True)
        self._then = then
        self._on_failure = on_failure

    def run(self) -> None:
        try:
            super().run()
        except BaseException as failure:  # noqa: BLE001 - SystemExit must not end it silently
            self._report(failure)
            if self._on_failure is not None:
                try:
                    self._on_failure(failure)
                except BaseException as second:  # noqa: BLE001 - as above
                    self._report(second)

    def _report(self, failure: BaseException) -> None:
        _log.critical(
            "thread %s ended by %s: %s; %s",
            self.name,
            type(failure).__name__,
            failure,
            self._then,
            exc_info=failure,
        )
        role = re.sub(r"-\d+$", "", self.name)
        for handle in crash_handlers:
            handle(role, failure)
