"""Events, which two API groups serve: the same objects with two sets of field names.

Promises: an event written in one group is read in the other. It is stored in the core form.

Upstream: ``pkg/apis/core/validation/events.go`` and ``pkg/apis/events/v1/conversion.go``.
"""

from __future__ import annotations

from clientgo.meta.selectors import label_key_problems
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.resources.names import PATH_SEGMENT
from clientgo.testcluster.server.storage.storage import Object

_NEW_NAMES = {
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "involvedObject": "regarding",
    "reportingComponent": "reportingController",
}
"""Names of the same fields: core, and events.k8s.io."""

_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}


def from_core(obj: Object) -> Object:
    """Convert a core event to events.k8s.io, where a series always has a count."""
    converted = {_NEW_NAMES.get(key, key): value for key, value in obj.items()}
    for name in ("reportingController", "reportingInstance"):
        if not converted.get(name):
            converted.pop(name, None)
    if series := converted.get("series"):
        converted["series"] = {"count": 0, **series}
    return converted | {"apiVersion": "events.k8s.io/v1"}


def to_core(obj: Object) -> Object:
    """Convert an event of events.k8s.io to the core form."""
    converted = {_CORE_NAMES.get(key, key): value for key, value in obj.items()}
    converted.setdefault("reportingComponent", "")
    converted.setdefault("reportingInstance", "")
    series = converted.get("series")
    if series and not series.get("count"):
        converted["series"] = {key: series[key] for key in series if key != "count"}
    return converted | {"apiVersion": "v1"}


class _EventStrategy(BuiltinStrategy):
    """Events of either group."""

    time_fields: tuple[str, ...] = ()
    has_dependents = False

    def default(self, obj: Object) -> None:
        """Set unknown times to null."""
        for field in self.time_fields:
            obj.setdefault(field, None)


class CoreEventStrategy(_EventStrategy):
    """Events of the core group, of whose metadata only the least is checked."""

    name_rule = PATH_SEGMENT
    time_fields = ("eventTime", "firstTimestamp", "lastTimestamp")

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors that both groups find."""
        return _common_errors(obj, "reportingComponent")


class EventStrategy(_EventStrategy):
    """Events of events.k8s.io, which are checked as what is stored, and more strictly."""

    reported_group = ""
    time_fields = ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new event."""
        event = to_core(obj)
        errors = _common_errors(event, "reportingController") + _series_errors(event)
        if not event.get("eventTime"):
            errors.append(FieldError.required("eventTime"))
        if event.get("type") not in ("Normal", "Warning"):
            detail = f"has invalid value: {event.get('type', '')}"
            errors.append(FieldError.invalid("type", "", detail))
        errors += [
            FieldError.invalid(field, "", "needs to be unset")
            for field in ("firstTimestamp", "lastTimestamp", "count", "source")
            if event.get(field)
        ]
        return errors

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a change: only the series may change."""
        event, before = to_core(new), to_core(old)
        errors = _common_errors(event, "reportingController")
        if event.get("series") != before.get("series"):
            errors += _series_errors(event)
        for field, shown in _FIXED:
            if (event.get(field) or None) != (before.get(field) or None):
                value = event.get(field, "")
                errors.append(FieldError.invalid(shown, value, "field is immutable"))
        return errors


_FIXED = tuple(
    (field, "reportingController" if field == "reportingComponent" else field)
    for field in (
        *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp"),
        *("count", "reason", "type", "eventTime", "action", "related", "reportingComponent"),
        "reportingInstance",
    )
)
"""Fields that never change, and their names in causes; upstream checks the reason twice."""

_LONGEST = 128
_LONGEST_MESSAGE = 1024


def _common_errors(event: Object, controller: str) -> list[FieldError]:
    """Return the errors of an event in the core form; ``controller`` is the field's name."""
    namespace = event["metadata"].get("namespace", "")
    involved = event.get("involvedObject", {}).get("namespace", "")
    has_time = bool(event.get("eventTime"))
    places = ("default", "kube-system") if has_time else ("", "default")
    errors = []
    if (not involved and namespace not in places) or (
        involved and involved != namespace and not has_time
    ):
        detail = "does not match event.namespace"
        errors.append(FieldError.invalid("involvedObject.namespace", involved, detail))
    if not has_time:
        return errors
    reporter = event.get("reportingComponent", "")
    if not reporter:
        errors.append(FieldError.required(controller))
    errors += [
        FieldError.invalid(controller, reporter, problem)
        for problem in label_key_problems(reporter)
    ]
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field, "")
        if not value:
            errors.append(FieldError.required(field))
        elif len(value) > _LONGEST:
            detail = f"can have at most {_LONGEST} characters"
            errors.append(FieldError.invalid(field, "", detail))
    if len(event.get("message", "")) > _LONGEST_MESSAGE:
        detail = f"can have at most {_LONGEST_MESSAGE} characters"
        errors.append(FieldError.invalid("message", "", detail))
    return errors


def _series_errors(event: Object) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(FieldError.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(FieldError.required("series.lastObservedTime"))
    return errors
