"""Set up logging for a program that has no set-up of its own.

Promises: one handler, on the root logger, whose lines carry their fields. Does not replace
handlers that are there already.
"""

from __future__ import annotations

import logging
from typing import TextIO

from clientgo.observe.logs.context import ContextFilter
from clientgo.observe.logs.formatters import JSONFormatter, TextFormatter


def setup_logging(
    level: int = logging.INFO, *, json: bool = False, stream: TextIO | None = None
) -> None:
    """Write what is logged at ``level`` and above to ``stream``, which is stderr by default.

    The HTTP library below the clients logs at INFO and above only: its DEBUG lines repeat each
    request in its own terms. Without effect where the root logger has a handler already, as in a
    test run.
    """
    if logging.getLogger().handlers:
        return
    handler = logging.StreamHandler(stream)
    handler.addFilter(ContextFilter())
    handler.setFormatter(JSONFormatter() if json else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("urllib3").setLevel(max(level, logging.INFO))
