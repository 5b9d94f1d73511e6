"""What the framework itself notes in the status of a controller's primaries.

It is in the object before that is written, so one request carries all. A reporter that fails does
no harm to the run.
"""

from __future__ import annotations

import logging
from typing import Any

from clientgo.operator.context import Context
from clientgo.operator.controller.declaration import ControllerConfig
from clientgo.operator.status import GenerationObserver, check_new_status, status_type_of

_log = logging.getLogger("clientgo.operator.reconcile")


class StatusNotes:
    """The generation that was reconciled, and what the controller's reporter notes. Thread-safe."""

    def __init__(self, kind: Any, config: ControllerConfig) -> None:
        self._observer = GenerationObserver(kind if config.generation_aware else None, config.name)
        self._reporter = config.reporter
        concerns = getattr(self._reporter, "concerns", None)
        self.reports = self._reporter is not None and (concerns is None or bool(concerns(kind)))
        """True if the reporter ever notes anything."""
        self.applies = self._observer.applies or self.reports
        """True if anything is ever noted after a success."""
        if self.reports and status_type_of(kind) is not None:
            check_new_status(kind, config.name)

    def succeeded(self, ctx: Context[Any], obj: Any, generation: int) -> None:
        """Note a success in an object that is about to be written."""
        self._observer.note(obj, generation)
        if self._reporter is None or not self.reports:
            return
        try:
            self._reporter.success(ctx, obj)
        except Exception:  # noqa: BLE001 - the work itself is done
            _log.exception("%s: the reporter failed", ctx.key)

    def failed(self, ctx: Context[Any], obj: Any, error: Exception) -> None:
        """Tell of a failure, and note it in an object that is about to be written."""
        if self._reporter is None:
            return
        try:
            self._reporter.failure(ctx, obj, error)
        except Exception:  # noqa: BLE001 - the run's own error is the one that matters
            _log.exception("%s: the reporter failed", ctx.key)
