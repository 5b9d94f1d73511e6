"""Jobs: the generated selector and the rules that their table can't say.

Upstream: ``pkg/registry/batch/job/strategy.go`` and ``pkg/apis/batch/validation``.
"""

from __future__ import annotations

from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.workloads import JobSpecStrategy
from clientgo.testcluster.server.resources.names import DNS_LABEL
from clientgo.testcluster.server.storage.storage import Object

_LEGACY_UID = "controller-uid"
_UID_LABELS = (_LEGACY_UID, "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


class JobStrategy(JobSpecStrategy):
    """Jobs. Their pods are labelled with the name and uid of the job, unless told otherwise."""

    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )

    def prepare_for_create(self, obj: Object) -> None:
        """Set the status; generate the selector and its labels."""
        super().prepare_for_create(obj)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of the name, the selector and the labels of the pods."""
        spec = obj["spec"]
        errors = _selector_errors(spec)
        if spec.get("selector") is not None and not spec.get("manualSelector"):
            errors += _generated_errors(obj)
        if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
            name = f"{obj['metadata'].get('name', '')}-{spec['completions'] - 1}"
            if DNS_LABEL.problems(name):
                detail = f"will not able to create pod with invalid DNS label: {name}"
                errors.append(FieldError.invalid("metadata.name", name, detail))
        return errors

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a status, and of what changed in it."""
        errors = super().validate_status_update(new, old)
        status, before = new.get("status", {}), old.get("status", {})
        spec = new["spec"]
        started, was_started = status.get("startTime"), before.get("startTime")
        is_resumed = _is_suspended(before) and not _is_suspended(status)
        if was_started and started != was_started and not spec.get("suspend") and not is_resumed:
            detail = "field is immutable for unsuspended job once set"
            errors.append(FieldError.invalid("status.startTime", started, detail))
        ended, was_ended = status.get("completionTime"), before.get("completionTime")
        if ended and was_ended and ended != was_ended:
            detail = "field is immutable"
            errors.append(FieldError.invalid("status.completionTime", ended, detail))
        for field in ("completedIndexes", "failedIndexes"):
            indexes = status.get(field, "")
            if indexes != before.get(field, "") and not _are_indexes(indexes, spec):
                detail = "must be ordered, disjoint and below spec.completions"
                errors.append(FieldError.invalid(f"status.{field}", indexes, detail))
        if status.get("failedIndexes") and "backoffLimitPerIndex" not in spec:
            detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(
                FieldError.invalid("status.failedIndexes", status["failedIndexes"], detail)
            )
        return errors + _uncounted_errors(status.get("uncountedTerminatedPods") or {})

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of an update: as upstream, the spec is checked twice."""
        errors = self.validate(new) + self.table.validate(new, old) + _selector_errors(new["spec"])
        return errors + _immutable_errors(new, old)


def _is_suspended(status: Object) -> bool:
    return any(
        item["type"] == "Suspended" and item["status"] == "True"
        for item in status.get("conditions") or ()
    )


def _are_indexes(text: str, spec: Object) -> bool:
    """Return True if a text such as ``1,3-5`` names indexes of a job, in their order."""
    last = -1
    for part in text.split(",") if text and spec.get("completions") is not None else ():
        first, dash, end = part.partition("-")
        numbers = [first, end] if dash else [first]
        if not all(number.isascii() and number.isdigit() for number in numbers):
            return False
        for number in map(int, numbers):
            if not last < number < spec["completions"]:
                return False
            last = number
    return True


def _uncounted_errors(pods: Object) -> list[FieldError]:
    """Return the empty and the repeated uids of pods that are not counted yet."""
    errors = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(FieldError.invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(FieldError.duplicate(path, uid))
            seen.add(uid)
    return errors


def _generate_selector(obj: Object) -> None:
    """Label the pods with the job, and select them."""
    metadata, spec = obj["metadata"], obj["spec"]
    template = spec["template"].setdefault("metadata", {})
    labels = template.setdefault("labels", {})
    shared = metadata.get("labels", {}) == labels  # which are its labels by default
    for key in _NAME_LABELS:
        labels.setdefault(key, metadata.get("name", ""))
    for key in _UID_LABELS:
        labels.setdefault(key, metadata["uid"])
    if shared:
        metadata["labels"] = dict(labels)
    selector = spec.setdefault("selector", {})
    matched = selector.setdefault("matchLabels", {})
    if _LEGACY_UID not in matched:
        matched[_UID_LABELS[1]] = metadata["uid"]


def _template_labels(spec: Object) -> Object:
    labels: Object = spec["template"].get("metadata", {}).get("labels", {})
    return labels


def _selector_errors(spec: Object) -> list[FieldError]:
    """Return a missing selector, or one that does not select the pods."""
    selector, labels = spec.get("selector"), _template_labels(spec)
    errors = [] if selector is not None else [FieldError.required("spec.selector")]
    if not _selects(selector, labels):
        detail = "`selector` does not match template `labels`"
        errors.append(FieldError.invalid("spec.template.metadata.labels", labels, detail))
    return errors


_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def _immutable_errors(new: Object, old: Object) -> list[FieldError]:
    """Return the changes of completions and of the template."""
    spec, before = new["spec"], old["spec"]
    errors = []
    completions = spec.get("completions")
    if completions != before.get("completions") and (
        spec.get("completionMode") != "Indexed" or completions != spec.get("parallelism")
    ):
        detail = "field is immutable"
        errors.append(FieldError.invalid("spec.completions", completions, detail))
    path, templates = "spec.template", [spec["template"], before["template"]]
    if before.get("suspend") and not old.get("status", {}).get("startTime"):
        path += ".spec"
        templates = [_without_scheduling(template) for template in templates]
    if templates[0] != templates[1]:
        errors.append(FieldError.invalid(path, templates[0], "field is immutable"))
    return errors


def _without_scheduling(template: Object) -> Object:
    """Return what may not change in the template of a job that waits to be started."""
    kept = {key: value for key, value in template.items() if key != "metadata"}
    spec = {key: value for key, value in template["spec"].items() if key not in _SCHEDULING}
    if affinity := spec.pop("affinity", {}):
        spec["affinity"] = {k: v for k, v in affinity.items() if k != "nodeAffinity"}
    return {**kept, "spec": spec}


def _generated_errors(obj: Object) -> list[FieldError]:
    """Return the labels of the pods that differ from the generated ones."""
    selector, labels = obj["spec"]["selector"], _template_labels(obj["spec"])
    expected = dict.fromkeys(_UID_LABELS, obj["metadata"]["uid"])
    expected |= dict.fromkeys(_NAME_LABELS, obj["metadata"].get("name", ""))
    errors = []
    for key, value in expected.items():
        path, detail = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            errors.append(FieldError.required(path, detail))
        elif labels[key] != value:
            errors.append(FieldError.invalid(path, labels, detail))
    if not _selects(selector, expected):
        detail = "`selector` not auto-generated"
        errors.append(FieldError.invalid("spec.selector", selector, detail))
    return errors


def _selects(selector: Object | None, labels: Object) -> bool:
    """Return True if a selector selects pods with some labels, or can't be read."""
    if selector is None:
        return False
    try:
        return selector_from_object(selector).matches(labels)
    except SelectorError:
        return True
