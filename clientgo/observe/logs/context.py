"""Fields for every log line of a block of code, from any logger.

Promises: within :func:`log_context` the lines of every logger have its fields, also those of other
libraries; the end of the block removes them. Fields in ``extra`` win.

Does not promise fields in other threads: those of this library start without, unless they run in a
copy of the context (``contextvars.copy_context().run``). A plain ``threading.Thread`` starts with
them in free-threaded CPython (``sys.flags.thread_inherit_context``), and without them elsewhere.

Differs from client-go (klog, contextual logging), where functions pass a logger on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import MappingProxyType

_fields: ContextVar[Mapping[str, object]] = ContextVar(
    "clientgo_log_fields", default=MappingProxyType({})
)


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Put these fields on every log line of this thread until the end of the block.

    Blocks may be nested; the inner one wins where both name a field.
    """
    token = _fields.set(MappingProxyType({**_fields.get(), **fields}))
    try:
        yield
    finally:
        _fields.reset(token)


def enter_log_context(fields: Mapping[str, object]) -> Token[Mapping[str, object]]:
    """Like :func:`log_context` without a block: what is returned goes to
    :func:`leave_log_context`. These fields replace those from before, and are asked for only when
    a line is written, so that a mapping may compute them.
    """
    return _fields.set(fields)


def leave_log_context(token: Token[Mapping[str, object]]) -> None:
    """End what :func:`enter_log_context` began, in the same thread."""
    _fields.reset(token)


def current_fields() -> Mapping[str, object]:
    """The fields that a line written here would carry."""
    return _fields.get()


class ContextFilter(logging.Filter):
    """Adds the fields to the records of the handler that it is given to; lets all through.

    They become attributes as those of ``extra`` do, so that any formatter can use them.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in current_fields().items():
            record.__dict__.setdefault(name, value)
        return True
