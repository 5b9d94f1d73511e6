"""Log lines with fields, from the call and from the context.

::

    with log_context(controller="foo", key="default/a"):    around a piece of work
        log.info("synced", extra={"attempt": 2})            in any function called there
                │
                ▼
    ContextFilter ──► TextFormatter   2026-11-21T04:00:00.000Z INFO my.program: synced
                      JSONFormatter       attempt=2 controller=foo key=default/a

The packages log to the standard ``logging`` and set nothing up. A program without a set-up of its
own calls :func:`setup_logging`; others add a :class:`ContextFilter` to their handlers.
"""

from clientgo.observe.logs.context import (
    ContextFilter,
    current_fields,
    enter_log_context,
    leave_log_context,
    log_context,
)
from clientgo.observe.logs.descriptor_handler import DescriptorHandler
from clientgo.observe.logs.formatters import JSONFormatter, TextFormatter
from clientgo.observe.logs.setup import setup_logging

__all__ = [
    "log_context",
    "enter_log_context",
    "leave_log_context",
    "current_fields",
    "ContextFilter",
    "DescriptorHandler",
    "TextFormatter",
    "JSONFormatter",
    "setup_logging",
]
