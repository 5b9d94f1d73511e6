"""Events, which two API groups serve: the same objects under two sets of names.

Promises: an event written in one group is read in the other. It is stored in the core form.

Upstream: ``pkg/apis/core/validation/events.go`` and ``pkg/apis/events/v1/conversion.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy, text_field, text_fields
from clientgo.apiserver.storage.storage import Object
from clientgo.schema.field_errors import FieldError

_NEW_NAMES = {
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "involvedObject": "regarding",
    "reportingComponent": "reportingController",
}
"""Core names, and what events.k8s.io calls the same fields."""

_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}


def from_core(obj: Object) -> Object:
    """A core event as events.k8s.io shows it."""
    converted = {_NEW_NAMES.get(key, key): value for key, value in obj.items()}
    for name in ("reportingController", "reportingInstance"):
        if not converted.get(name):
            converted.pop(name, None)
    return converted | {"apiVersion": "events.k8s.io/v1"}


def to_core(obj: Object) -> Object:
    """An event of events.k8s.io in the form that is stored."""
    converted = {_CORE_NAMES.get(key, key): value for key, value in obj.items()}
    converted.setdefault("reportingComponent", "")
    converted.setdefault("reportingInstance", "")
    return converted | {"apiVersion": "v1"}


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


class _EventStrategy(BuiltinStrategy):
    """What both groups share."""

    time_fields: tuple[str, ...] = ()

    def default(self, obj: Object) -> None:
        """Times are told even if they are unknown."""
        for field in self.time_fields:
            obj.setdefault(field, None)

    selectable_fields = {
        **text_fields("reason", "type", "reportingComponent"),
        "source": text_field("source", "component"),
        "reportingController": text_field("reportingComponent"),
        **{f"involvedObject.{name}": text_field("involvedObject", name) for name in _REFERENCE},
        **{f"regarding.{name}": text_field("involvedObject", name) for name in _REFERENCE},
    }
    """Fields of both groups, read from the stored form."""


class CoreEventStrategy(_EventStrategy):
    """Events of the core group."""

    time_fields = ("eventTime", "firstTimestamp", "lastTimestamp")

    def validate(self, obj: Object) -> list[FieldError]:
        """An event is in the namespace of its object, or in default if that has none."""
        errors = super().validate(obj)
        namespace = obj["metadata"].get("namespace", "")
        involved = obj["involvedObject"].get("namespace", "")
        if involved != namespace and not (involved == "" and namespace == "default"):
            path = "involvedObject.namespace"
            errors.append(FieldError.invalid(path, involved, "does not match event.namespace"))
        return errors


class EventStrategy(_EventStrategy):
    """Events of events.k8s.io, which demands more."""

    reported_group = ""
    time_fields = ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")

    def validate(self, obj: Object) -> list[FieldError]:
        """Who reports what, when: all of it must be told, unless it is an event of old."""
        if not obj.get("eventTime"):
            errors = [FieldError.required("eventTime")]
        else:
            errors = [
                FieldError.required(field)
                for field in ("reportingController", "reportingInstance", "action", "reason")
                if not obj.get(field)
            ]
        if obj.get("type") not in ("Normal", "Warning"):
            detail = "must be Normal or Warning"
            errors.append(FieldError.invalid("type", obj.get("type", ""), detail))
        return errors

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Only the series and the like change."""
        return []
