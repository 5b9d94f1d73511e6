"""Events, which two API groups serve: the same objects with two sets of field names.

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
"""Names of the same fields: core, and events.k8s.io."""

_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}


def from_core(obj: Object) -> Object:
    """Convert a core event to events.k8s.io."""
    converted = {_NEW_NAMES.get(key, key): value for key, value in obj.items()}
    for name in ("reportingController", "reportingInstance"):
        if not converted.get(name):
            converted.pop(name, None)
    return converted | {"apiVersion": "events.k8s.io/v1"}


def to_core(obj: Object) -> Object:
    """Convert an event of events.k8s.io to the core form."""
    converted = {_CORE_NAMES.get(key, key): value for key, value in obj.items()}
    converted.setdefault("reportingComponent", "")
    converted.setdefault("reportingInstance", "")
    return converted | {"apiVersion": "v1"}


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


class _EventStrategy(BuiltinStrategy):
    """Events of either group."""

    time_fields: tuple[str, ...] = ()
    has_dependents = False

    def default(self, obj: Object) -> None:
        """Set unknown times to null."""
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
        """Return an error if the event is not in the namespace of its object."""
        errors = super().validate(obj)
        namespace = obj["metadata"].get("namespace", "")
        involved = obj["involvedObject"].get("namespace", "")
        if involved != namespace and not (involved == "" and namespace == "default"):
            path = "involvedObject.namespace"
            errors.append(FieldError.invalid(path, involved, "does not match event.namespace"))
        return errors


class EventStrategy(_EventStrategy):
    """Events of events.k8s.io, which requires more fields."""

    reported_group = ""
    time_fields = ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the missing fields, and an unknown type."""
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
        """Return no errors: what may change is not checked."""
        return []
