"""Persistent volumes and claims: data sources, the time of the last phase, what may change.

Upstream: ``pkg/registry/core/persistentvolume``, ``persistentvolumeclaim`` and
``pkg/api/persistentvolumeclaim``.
"""

from __future__ import annotations

import time
from typing import Any

from clientgo.meta.timestamps import format_time
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.quantities import parse_quantity

# -- volumes

_NO_SOURCE = frozenset(
    {
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity"),
        *("persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName"),
        "volumeMode",
    }
)
"""Fields of a volume's spec that do not say where the data is."""


class VolumeStrategy(StatusStrategy):
    """Persistent volumes."""

    def initial_status(self, obj: Object) -> Object:
        """Return the phase Pending, and since when."""
        return {"phase": "Pending", "lastPhaseTransitionTime": _now()}

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything except the status; note the time of a new phase."""
        super().prepare_for_status_update(new, old)
        status, before = new.get("status", {}), old.get("status", {})
        since = "lastPhaseTransitionTime"
        if status.get("phase") == before.get("phase"):
            if since in before:
                status.setdefault(since, before[since])
        elif status.get(since) in (None, before.get(since)):
            status[since] = _now()

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of an update: as upstream, the spec is checked twice."""
        return self.validate(new) + super().validate_update(new, old)

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return a change of the source."""
        if _source(new) == _source(old):
            return []
        detail = "spec.persistentvolumesource is immutable after creation"
        return [FieldError.forbidden("spec.persistentvolumesource", detail)]


def _source(volume: Object) -> dict[str, Any]:
    return {key: value for key, value in volume["spec"].items() if key not in _NO_SOURCE}


def _now() -> str:
    return format_time(int(time.time()))


# -- claims

_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""What the older of the two fields for a data source may name: API group and kind."""


class ClaimStrategy(StatusStrategy):
    """Claims."""

    def prepare_for_create(self, obj: Object) -> None:
        """Set the status; bring the two fields for a data source into step."""
        super().prepare_for_create(obj)
        _join_sources(obj["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; bring the two fields for a data source into step."""
        super().prepare_for_update(new, old)
        _join_sources(new["spec"])

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return the changes of what is fixed once a claim exists."""
        errors = _class_annotation_errors(new, old)
        spec, before = dict(new["spec"]), dict(old["spec"])
        for field in _may_change(new, old):
            for state in (spec, before):
                state.pop(field, None)
        if _is_bound(new):
            spec["resources"] = _with_storage(spec.get("resources", {}), _storage(before))
        if spec != before:
            detail = (
                "spec is immutable after creation except resources.requests and "
                "volumeAttributesClassName for bound claims"
            )
            errors.append(FieldError.forbidden("spec", detail))
        wanted = parse_quantity(_storage(new["spec"]))
        has = parse_quantity(old.get("status", {}).get("capacity", {}).get("storage", "0"))
        if wanted < parse_quantity(_storage(old["spec"])) and wanted <= has:
            detail = "field can not be less than status.capacity"
            errors.append(FieldError.forbidden("spec.resources.requests.storage", detail))
        mode = new["spec"].get("volumeMode")
        if mode != old["spec"].get("volumeMode"):
            errors.append(FieldError.invalid("volumeMode", mode, "field is immutable"))
        kept = "currentVolumeAttributesClassName" in old.get("status", {})
        if kept and old["spec"].get(_ATTRIBUTES) and not new["spec"].get(_ATTRIBUTES):
            detail = "may not be removed when status.currentVolumeAttributesClassName is set"
            errors.append(FieldError.forbidden(f"spec.{_ATTRIBUTES}", detail))
        return errors


_ATTRIBUTES = "volumeAttributesClassName"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _class_annotation(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations", {})
    return str(annotations.get(_CLASS_ANNOTATION, ""))


def _class_annotation_errors(new: Object, old: Object) -> list[FieldError]:
    """Return a change of the annotation that stood for the field; it may become the field."""
    before = _class_annotation(old)
    named = new["spec"].get("storageClassName")
    if before and "storageClassName" not in old["spec"] and named == before:
        return []
    if _class_annotation(new) == before:
        return []
    path = f"metadata.annotations.{_CLASS_ANNOTATION}"
    return [FieldError.invalid(path, _class_annotation(new), "field is immutable")]


def _join_sources(spec: Object) -> None:
    source = spec.get("dataSource")
    if source is not None:
        if (source.get("apiGroup") or "", source.get("kind")) not in _SOURCES:
            del spec["dataSource"]  # it is ignored, for old clients
        else:
            spec.setdefault("dataSourceRef", source)
        return
    reference = spec.get("dataSourceRef")
    if not reference or reference.get("namespace"):
        return
    if (reference.get("apiGroup") or "", reference.get("kind")) in _SOURCES:
        spec["dataSource"] = reference


def _may_change(new: Object, old: Object) -> list[str]:
    """Return the fields of the spec that this update may change."""
    fields = []
    if not old["spec"].get("volumeName"):
        fields.append("volumeName")
    named = new["spec"].get("storageClassName")
    if "storageClassName" not in old["spec"] and _class_annotation(old) in ("", named):
        fields.append("storageClassName")
    if _is_bound(new):
        fields.append(_ATTRIBUTES)
    return fields


def _is_bound(claim: Object) -> bool:
    return bool(claim.get("status", {}).get("phase") == "Bound")


def _storage(spec: Object) -> str:
    amount: str = spec.get("resources", {}).get("requests", {}).get("storage", "0")
    return amount


def _with_storage(resources: Object, amount: str) -> Object:
    """Return resources with another amount of storage, if they request any."""
    requests = resources.get("requests")
    return (
        resources
        if requests is None
        else {**resources, "requests": {**requests, "storage": amount}}
    )
