"""A log line with its fields, for people and for programs.

Promises: what ``extra`` and the context say appears on the line, in alphabetical order. Neither a
value nor the message can be mistaken for another field or another line, or steer a terminal: a
message with such characters is quoted, and the lines of a traceback are indented. Time is UTC.

Does not promise to hide secrets: what must not be read must not be logged.

Differs from client-go (klog) in the head of the line, which names the logger instead of the
thread and the line of code.
"""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Any, Final

from clientgo.util.text.escapes import escaped, escaped_lines, is_safe, quoted

_OWN_ATTRIBUTES: Final = frozenset(
    {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"}
)
"""What every record has; all else is a field. ``taskName`` comes with Python 3.12."""

_PLAIN: Final = re.compile(r"[\w./:@+-]+")
"""Values that need no quotes."""


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record by name, in alphabetical order."""
    names = sorted(record.__dict__.keys() - _OWN_ATTRIBUTES)
    return {name: record.__dict__[name] for name in names}


class TextFormatter(logging.Formatter):
    """``2026-11-21T04:00:00.000Z INFO my.program: message name=value``.

    A dotted field such as ``resource.name`` is left out if another field has the same value, so
    that a line does not name an object again and again. JSON lines have them all.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatTime(  # noqa: N802 - logging's name
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        return _timestamp(record)

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        record.asctime = _timestamp(record)
        more = [
            self.formatException(record.exc_info) if record.exc_info else record.exc_text,
            self.formatStack(record.stack_info) if record.stack_info else None,
        ]
        # Indented, because the text of an exception may look like a line of the log.
        lines = [f"  {line}" for text in more if text for line in escaped_lines(text).split("\n")]
        return "\n".join([self.formatMessage(record), *lines])

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = fields_of(record)
        plain = {str(value) for name, value in fields.items() if "." not in name}
        shown = [
            f" {name}={_quoted(value)}"
            for name, value in fields.items()
            if "." not in name or str(value) not in plain
        ]
        if not is_safe(record.message):
            record.message = quoted(record.message)
        return escaped(super().formatMessage(record) + "".join(shown))


class JSONFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the fields, and a traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        head = {
            "time": _timestamp(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line = {**head, **fields_of(record), **head}  # first in order, and not to be replaced
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return escaped(json.dumps(line, default=str, ensure_ascii=False))


def _timestamp(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _quoted(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else quoted(text)
