"""What log lines say about the object that is being processed.

Promises that while user code runs for an object, the lines of every logger in that thread carry
these fields (see :mod:`clientgo.observe.logs`). Nothing is computed unless a line is written.
Contents of objects are never logged.

Source: Java Operator SDK (MDC), controller-runtime pkg/log.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from typing import Any, Final, TypeAlias

from clientgo.meta import APIResource, ObjectName, metadata_of
from clientgo.observe.logs import current_fields, enter_log_context, leave_log_context

SWITCH: Final = "CLIENTGO_LOG_CONTEXT"
"""The environment variable that turns the fields off, with ``false``."""

_Entered: TypeAlias = Token[Mapping[str, object]]


class RunFields(Mapping[str, object]):
    """The fields of one run, or of one event; the object may become known later."""

    __slots__ = ("controller", "key", "obj", "prefix", "primary", "reconcile_id")

    def __init__(
        self,
        controller: str,
        primary: APIResource,
        key: ObjectName | None,
        reconcile_id: Callable[[], str] | None = None,
        *,
        obj: Any = None,
        prefix: str = "resource",
    ) -> None:
        self.controller = controller
        self.primary = primary
        self.key = key
        self.reconcile_id = reconcile_id
        self.obj = obj
        self.prefix = prefix

    def __getitem__(self, name: str) -> object:
        return self._fields()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())

    def _fields(self) -> dict[str, object]:
        if os.environ.get(SWITCH, "").lower() in ("false", "0", "no"):
            return {}
        primary, key = self.primary, self.key
        fields: dict[str, object] = {
            "controller": self.controller,
            "controllerGroup": primary.group,
            "controllerKind": primary.kind,
        }
        if key is not None:
            # A record's own "name" is that of the logger.
            fields |= {"namespace": key.namespace, "objectName": key.name}
        if self.reconcile_id is not None:
            fields["reconcileID"] = self.reconcile_id()
        if self.obj is not None:
            fields |= fields_of(self.obj, self.prefix)
        return {name: value for name, value in fields.items() if value not in ("", None)}


def fields_of(obj: Any, prefix: str = "resource") -> dict[str, object]:
    """What an object is called; what it does not have is left out."""
    metadata = metadata_of(obj)
    fields = {
        "apiVersion": getattr(obj, "api_version", ""),
        "kind": getattr(obj, "kind", ""),
        "name": metadata.name,
        "namespace": metadata.namespace,
        "resourceVersion": metadata.resource_version,
        "generation": metadata.generation,
        "uid": metadata.uid,
    }
    return {f"{prefix}.{name}": value for name, value in fields.items() if value}


@contextmanager
def logging_about(fields: RunFields) -> Iterator[None]:
    """Lines of this thread carry the fields until the end of the block."""
    token = enter(fields)
    try:
        yield
    finally:
        leave(token)


def enter(fields: RunFields) -> _Entered:
    """Begin without a block; what is returned goes to :func:`leave`."""
    return enter_log_context(fields)


def leave(token: _Entered) -> None:
    leave_log_context(token)


def current_run() -> tuple[str, ObjectName] | None:
    """Return the controller and the key of the run that this thread is in, if it is in one."""
    fields = current_fields()
    if not isinstance(fields, RunFields) or fields.key is None:
        return None
    return fields.controller, fields.key


class BoundLogger:
    """A logger whose calls take values by name: ``log.info("scaled", replicas=3)``.

    An API object as a value is logged as its kind, namespace and name.
    """

    __slots__ = ("_logger", "_values")

    def __init__(self, logger: logging.Logger, values: Mapping[str, Any] | None = None) -> None:
        self._logger = logger
        self._values = dict(values or {})

    def bind(self, **values: Any) -> BoundLogger:
        """Return the same logger with more values; a later one of the same name wins."""
        return BoundLogger(self._logger, self._values | values)

    def debug(self, message: str, **values: Any) -> None:
        self._log(logging.DEBUG, message, values)

    def info(self, message: str, **values: Any) -> None:
        self._log(logging.INFO, message, values)

    def warning(self, message: str, **values: Any) -> None:
        self._log(logging.WARNING, message, values)

    def error(self, message: str, *, exc_info: Any = None, **values: Any) -> None:
        self._log(logging.ERROR, message, values, exc_info)

    def _log(self, level: int, message: str, values: dict[str, Any], exc_info: Any = None) -> None:
        if not self._logger.isEnabledFor(level):
            return
        fields = {
            name + "_" * (name in _TAKEN): _rendered(value)
            for name, value in (self._values | values).items()
        }
        self._logger.log(level, "%s", message, extra=fields, exc_info=exc_info, stacklevel=3)


_TAKEN: Final = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime"})
"""Names that a record has for itself; a value of such a name gets an underscore."""


def _rendered(value: Any) -> Any:
    if hasattr(value, "metadata") and hasattr(value, "kind"):
        metadata = metadata_of(value)
        named = {"kind": value.kind, "namespace": metadata.namespace, "name": metadata.name}
        return {name: text for name, text in named.items() if text}
    return value
