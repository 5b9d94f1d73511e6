"""The controller of a lesson, which runs when the script says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from clientgo.rest import RestConfig
from clientgo.tools.study.target import Target, foo_target

_NO_RESYNC: Final = 0.0


class LateController:
    """Runs the sample controller when the script says so. Thread-safe.

    Without resync, so that nothing happens by itself while a reader thinks.
    """

    def __init__(self) -> None:
        self._controller: Callable[..., Any] = import_module("sample_controller.demo").controller
        self._config: RestConfig | None = None
        self._running = ExitStack()
        self._lock = threading.Lock()

    @contextmanager
    def run(self, config: RestConfig) -> Iterator[None]:
        """Be ready to start; stop it at the end of the block."""
        self._config = config
        try:
            yield
        finally:
            self.stop()

    def start(self) -> None:
        if self._config is None:
            raise RuntimeError("the session has not begun, or has ended")
        with self._lock:
            self._running.enter_context(self._controller(self._config, resync=_NO_RESYNC))

    def stop(self) -> None:
        """Stop it, if it runs; blocks until its threads have ended."""
        with self._lock:
            self._running.close()


def lesson_target(controller: LateController) -> Target:
    """Return the sample controller, with nothing on the server."""
    return replace(foo_target(), run=controller.run, objects=())
