"""JSONPath of printer columns and selectable fields.

Promises the part that CRDs use: fields, quoted fields, indices, ``[*]``, and filters such as
``[?(@.type=="Ready")]``. Upstream: client-go ``util/jsonpath``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_Step = Callable[[list[Any]], list[Any]]

_TOKEN = re.compile(
    r"""\.(?P<field>[^.\[\]\\]+(?:\\.[^.\[\]\\]*)*)
      | \['(?P<quoted>[^']*)'\]
      | \[(?P<all>\*)\]
      | \[(?P<index>-?\d+)\]
      | \[\?\(\s*@(?P<filter>(?:\.[^.=!\s]+)+)\s*
          (?P<op>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|\S+?)\s*\)\]
    """,
    re.VERBOSE,
)


class JsonPath:
    """A parsed path; immutable."""

    def __init__(self, text: str) -> None:
        """Parse ``text``, with or without surrounding braces.

        Raises:
            ValueError: it is malformed, or uses an unsupported form.
        """
        stripped = text.removeprefix("{").removesuffix("}")
        self._steps: list[_Step] = []
        position = 0
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise ValueError(f"JSONPath {text!r} can't be read at {stripped[position:]!r}")
            self._steps.append(_step(match))
            position = match.end()

    def find(self, document: Any) -> list[Any]:
        """Return every value that the path selects."""
        values = [document]
        for step in self._steps:
            values = step(values)
        return values


def _step(match: re.Match[str]) -> _Step:
    if (name := match["field"] or match["quoted"]) is not None:
        return _field(name.replace("\\", ""))
    if match["all"]:
        return _members
    if match["index"] is not None:
        return _index(int(match["index"]))
    names = match["filter"].strip(".").split(".")
    return _filter(names, match["value"].strip("\"'"), equal=match["op"] == "==")


def _field(name: str) -> _Step:
    return lambda values: [
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def _members(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += value
        elif isinstance(value, dict):
            found += value.values()
    return found


def _index(position: int) -> _Step:
    return lambda values: [
        value[position]
        for value in values
        if isinstance(value, list) and -len(value) <= position < len(value)
    ]


def _filter(names: list[str], wanted: str, *, equal: bool) -> _Step:
    def matches(item: Any) -> bool:
        for name in names:
            item = item.get(name) if isinstance(item, dict) else None
        return (str(item) == wanted) is equal

    return lambda values: [
        item for value in values if isinstance(value, list) for item in value if matches(item)
    ]
