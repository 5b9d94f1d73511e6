"""A line with its fields can be read back, by people and by programs."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from clientgo.observe.logs import JSONFormatter, TextFormatter


def record(message: str = "hello", **fields: Any) -> logging.LogRecord:
    return logging.makeLogRecord(
        {
            "name": "program",
            "levelname": "INFO",
            "msg": message,
            "created": 1.5,
            "msecs": 500.0,
            **fields,
        }
    )


def test_fields_follow_the_message_in_alphabetical_order() -> None:
    line = TextFormatter().format(record(key="default/a", attempt=2))

    assert line == "1970-01-01T00:00:01.500Z INFO program: hello attempt=2 key=default/a"


def test_a_line_of_text_does_not_name_an_object_twice() -> None:
    fields = {"objectName": "a", "resource.name": "a", "resource.uid": "1"}

    assert TextFormatter().format(record(**fields)).endswith(": hello objectName=a resource.uid=1")
    assert json.loads(JSONFormatter().format(record(**fields)))["resource.name"] == "a"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a b", '"a b"'), ("a=b", '"a=b"'), ('"', r'"\""'), ("a\nb", r'"a\nb"'), ("", '""')],
)
def test_a_value_cannot_be_mistaken_for_another_field_or_line(value: str, shown: str) -> None:
    assert TextFormatter().format(record(key=value)).endswith(f" key={shown}")


def test_a_line_of_json_has_it_all() -> None:
    line = json.loads(JSONFormatter().format(record(key="default/a", error=ValueError("bad"))))

    assert line == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "INFO",
        "logger": "program",
        "message": "hello",
        "key": "default/a",
        "error": "bad",
    }


def test_a_field_cannot_replace_what_every_line_has() -> None:
    line = json.loads(JSONFormatter().format(record(level="high", logger="me")))

    assert (line["level"], line["logger"]) == ("INFO", "program")


@pytest.mark.parametrize("formatter", [TextFormatter(), JSONFormatter()], ids=["text", "json"])
def test_a_traceback_is_not_lost(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("a bug")
    except ValueError:
        line = formatter.format(record(exc_info=sys.exc_info()))

    assert "ValueError: a bug" in line


def test_a_program_sets_it_up_once_and_sees_no_debug_lines_of_the_http_library() -> None:
    program = """
import logging
from clientgo.observe.logs import log_context, setup_logging
setup_logging(logging.DEBUG, json=True)
setup_logging(logging.CRITICAL)
logging.getLogger("urllib3.connectionpool").debug("GET / 200")
with log_context(key="a"):
    logging.debug("once")
"""
    written = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stderr

    (line,) = written.splitlines()
    assert (json.loads(line)["message"], json.loads(line)["key"]) == ("once", "a")
