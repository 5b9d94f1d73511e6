"""A text from outside begins no line of a log, and does not steer the terminal that shows it."""

from __future__ import annotations

import io
import json
import logging
from typing import Final

import pytest

from clientgo.observe.logs import JSONFormatter, TextFormatter
from clientgo.util.text.escapes import is_safe

HEAD: Final = "1970-01-01T00:00:01.500Z INFO program: "
FORGED: Final = "denied\n1970-01-01T00:00:01.500Z INFO program: all is well"
NASTY: Final = [
    *(FORGED, "\r", "\x1b[2J", "\x9b2J", "\x7f", "\x85", "\x00"),
    *("\u2028", "\u202e", "\u200b"),
]
each_nasty = pytest.mark.parametrize("nasty", NASTY, ids=ascii)
each_formatter = pytest.mark.parametrize(
    "formatter", [TextFormatter(), JSONFormatter()], ids=["text", "json"]
)


def record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("program", logging.INFO, "", 0, message, arguments, None)
    made.created, made.msecs = 1.5, 500.0
    made.__dict__.update(more)
    return made


def raised(error: BaseException) -> tuple[type[BaseException], BaseException, None]:
    return type(error), error, None


@each_formatter
@each_nasty
def test_a_record_is_one_safe_line(formatter: logging.Formatter, nasty: str) -> None:
    line = formatter.format(record("refused: %s", nasty, key=nasty, error=ValueError(nasty)))

    assert is_safe(line)


@each_nasty
def test_json_lines_have_the_text_as_it_was(nasty: str) -> None:
    line = json.loads(JSONFormatter().format(record("refused: %s", nasty, key=nasty)))

    assert (line["message"], line["key"]) == (f"refused: {nasty}", nasty)


def test_a_message_is_quoted_only_if_it_must_be() -> None:
    assert TextFormatter().format(record("größe: %s", "it's 5 \\ 6")) == f"{HEAD}größe: it's 5 \\ 6"
    assert TextFormatter().format(record("no: %s", FORGED, key="a")) == (
        f'{HEAD}"no: denied\\n{HEAD}all is well" key=a'
    )


def test_the_name_of_a_logger_is_no_way_in() -> None:
    assert is_safe(TextFormatter().format(record("hello", name="a\nb")))


def test_the_lines_of_a_traceback_are_indented() -> None:
    text = TextFormatter().format(record("failed", exc_info=raised(ValueError(FORGED))))

    assert text == (
        f"{HEAD}failed\n  ValueError: denied\n  1970-01-01T00:00:01.500Z INFO program: all is well"
    )


@each_nasty
def test_the_lines_of_a_traceback_are_safe(nasty: str) -> None:
    error = ValueError(nasty)
    error.add_note(nasty)
    error.__cause__ = OSError(nasty)
    text = TextFormatter().format(record("failed", exc_info=raised(error), stack_info=nasty))

    first, *others = text.split("\n")
    assert first == f"{HEAD}failed"
    assert all(line.startswith("  ") and is_safe(line) for line in others)


def test_a_traceback_that_another_formatter_wrote_is_indented_too() -> None:
    """`logging` keeps the text of a traceback on the record, for the handlers that follow."""
    made = record("failed", exc_info=raised(ValueError(FORGED)))
    logging.Formatter().format(made)
    made.exc_info = None  # as after a QueueHandler

    others = TextFormatter().format(made).split("\n")[1:]

    assert others
    assert all(line.startswith("  ") for line in others)


def test_a_whole_program_writes_one_line_for_each_record() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextFormatter())
    logger = logging.Logger("program")
    logger.addHandler(handler)

    for nasty in NASTY:
        logger.warning("the webhook refused it: %s", nasty)

    assert len(out.getvalue().splitlines()) == len(NASTY)
