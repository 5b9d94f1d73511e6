"""What differs from run to run is replaced by symbols, so that answers can be compared.

uids, resource versions, times, generated names, continue tokens and ages become symbols; equality
among them is kept, values are not. What a scenario writes itself is data and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tests.conformance.pointers import Json

UID_RE = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME_RE = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")
MICROTIME_RE = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
RV_IN_TEXT_RE = re.compile(r"(resource ?version[^0-9]{0,30})(\d+)", re.IGNORECASE)
CURRENT_IN_TEXT_RE = re.compile(r"(current: |too old resource version: \d+ \()(\d+)")
AGE_RE = re.compile(r"^(?:\d+[smhdy])+$|^<invalid>$")


def strings(value: Json) -> Iterator[str]:
    """Each string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def is_failure(value: Json) -> bool:
    """Whether ``value`` is a ``Status`` object reporting a failure."""
    return (
        isinstance(value, dict)
        and value.get("kind") == "Status"
        and value.get("status") == "Failure"
    )


class Normaliser:
    """Replaces run-dependent values by symbols, consistently within one scenario run."""

    def __init__(
        self, variables: Mapping[str, str], literals: Iterable[str], keep_managed_fields: bool
    ) -> None:
        """Take the built-in variables and the strings that the scenario itself writes."""
        # Longest value first, so that a namespace name wins over the suffix it contains.
        self.reverse = sorted(
            ((value, f"${{{name}}}") for name, value in variables.items()),
            key=lambda item: -len(item[0]),
        )
        self.keep_managed_fields = keep_managed_fields
        self.uids: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        # uids, times and numbers that the scenario itself writes are data, not noise
        self.fixed: set[str] = set()
        for text in literals:
            for pattern in (UID_RE, TIME_RE, MICROTIME_RE):
                self.fixed.update(pattern.findall(text))
            self.fixed.update(re.findall(r"\d+", text))

    def forget(self) -> None:
        """Start symbol numbering afresh (fixtures must not shift the numbers of the steps)."""
        self.uids.clear()
        self.versions.clear()

    def _uid(self, match: re.Match[str]) -> str:
        text = match.group(0)
        return (
            text if text in self.fixed else self.uids.setdefault(text, f"uid-{len(self.uids) + 1}")
        )

    def _clock(self, symbol: str) -> Callable[[re.Match[str]], str]:
        return lambda match: match.group(0) if match.group(0) in self.fixed else symbol

    def version(self, text: str) -> str:
        """Symbol of an object's resourceVersion: equal versions get equal symbols."""
        if text in ("", "0"):
            return text
        return self.versions.setdefault(text, f"rv-{len(self.versions) + 1}")

    def unexpand(self, value: str) -> str:
        """Replace the values of built-in variables by their names."""
        for actual, symbol in self.reverse:
            if actual in value:
                value = value.replace(actual, symbol)
        return value

    def text(self, value: str) -> str:
        """Normalise free text."""
        value = self.unexpand(value)
        value = UID_RE.sub(self._uid, value)
        value = MICROTIME_RE.sub(self._clock("<microtime>"), value)
        value = TIME_RE.sub(self._clock("<time>"), value)
        value = CURRENT_IN_TEXT_RE.sub(r"\1<rv>", value)

        def known_version(match: re.Match[str]) -> str:
            digits = match.group(2)
            return match.group(1) + self.versions.get(
                digits, digits if digits == "0" or digits in self.fixed else "<rv>"
            )

        return RV_IN_TEXT_RE.sub(known_version, value)

    def value(self, value: Json, *, bookmark: bool = False) -> Json:
        """Normalise any JSON value; the input is left alone."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") == "BOOKMARK" and "object" in value:
            return {"type": "BOOKMARK", "object": self.value(value["object"], bookmark=True)}
        result: dict[str, Json] = {}
        for key in sorted(value):
            item = value[key]
            if key == "metadata" and isinstance(item, dict):
                listing = bookmark or (
                    "uid" not in item and "name" not in item and "generateName" not in item
                )
                result[key] = self.metadata(item, listing)
            else:
                result[self.text(key)] = self.value(item)
        return result

    def metadata(self, metadata: dict[str, Json], listing: bool) -> Json:
        """Normalise object metadata, or list metadata when ``listing``."""
        result: dict[str, Json] = {}
        for key in sorted(metadata):
            item = metadata[key]
            if key == "managedFields":
                if self.keep_managed_fields and item:
                    result[key] = sorted(
                        (self.value(entry) for entry in item),
                        key=lambda entry: json.dumps(entry, sort_keys=True),
                    )
            elif key == "resourceVersion" and isinstance(item, str):
                if listing:
                    result[key] = "<rv>" if item else item
                else:
                    result[key] = self.version(item)
            elif key == "continue" and isinstance(item, str):
                result[key] = "<continue>" if item else item
            elif key == "selfLink":
                continue
            elif (
                key == "name"
                and metadata.get("generateName")
                and str(item).startswith(metadata["generateName"])
            ):
                result[key] = self.text(metadata["generateName"]) + "<random>"
            else:
                result[key] = self.value(item)
        return result

    @staticmethod
    def hide_ages(document: Json) -> Json:
        """Blank age-like cells of a Table, in place; any other document is left alone.

        Column definitions tell which they are; the events of a watch carry them only
        once, so without them each cell that looks like an age counts.
        """
        if not isinstance(document, dict) or document.get("kind") != "Table":
            return document
        columns = document.get("columnDefinitions") or []
        ages = {
            index
            for index, column in enumerate(columns)
            if column.get("name") in ("Age", "Last Seen", "First Seen")
            or column.get("type") == "date"
        }
        for row in document.get("rows") or []:
            for index, cell in enumerate(row.get("cells") or []):
                if isinstance(cell, str) and AGE_RE.match(cell) and (index in ages or not columns):
                    row["cells"][index] = "<age>"
        return document


def comparable(value: Json, compare_message: bool) -> Json:
    """What is left of a normalised value for comparison.

    Failure ``Status`` objects keep their machine-readable part only: code, reason,
    ``details`` with causes reduced to field and reason, and the message if asked for.
    """
    if isinstance(value, list):
        return [comparable(item, compare_message) for item in value]
    if not isinstance(value, dict):
        return value
    if not is_failure(value):
        return {key: comparable(item, compare_message) for key, item in value.items()}
    kept: dict[str, Json] = {
        key: value.get(key) for key in ("kind", "apiVersion", "status", "code", "reason")
    }
    details = value.get("details")
    if isinstance(details, dict) and details:
        kept["details"] = {
            key: details[key]
            for key in ("name", "group", "kind", "retryAfterSeconds")
            if key in details
        }
        causes = details.get("causes")
        if causes:
            pairs = [
                {"field": cause.get("field", ""), "reason": cause.get("reason", "")}
                for cause in causes
            ]
            kept["details"]["causes"] = sorted(
                pairs, key=lambda pair: (pair["field"], pair["reason"])
            )
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata.get("continue"):
        kept["metadata"] = metadata
    if compare_message:
        kept["message"] = value.get("message")
    return kept
