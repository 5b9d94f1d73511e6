"""Pods: what their table can't say, and their subresources.

Promises: an update changes only what a real API server lets it change; the subresources
``ephemeralcontainers``, ``resize`` and ``binding`` change only their own fields.

Does not promise pod-level resources.

Upstream: ``pkg/registry/core/pod/strategy.go`` and ``pkg/apis/core/validation``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clientgo.meta.json_values import copy_json
from clientgo.meta.selectors import label_key_problems
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.fields.managed_fields import FieldSet
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy, take
from clientgo.testcluster.server.kinds.pod_resources import (
    ordering_errors,
    quality_of_service,
    resize_errors,
)
from clientgo.testcluster.server.kinds.pod_warnings import name_warnings, pod_warnings
from clientgo.testcluster.server.storage.storage import Object

_CONTAINERS = ("containers", "initContainers")
_MOST_SECONDS = 2**31 - 1

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
"""Messages of the row condition of completed pods, by phase."""


_SUBRESOURCES_OF_SPEC = ("ephemeralcontainers", "resize")


class PodStrategy(StatusStrategy):
    """Pods. They are stored, not run."""

    def default(self, obj: Object) -> None:
        """Request what is limited; bring the two fields for addresses into step."""
        _join_addresses(obj.get("status", {}))
        for container in _containers(obj["spec"]):
            resources = container["resources"]
            if "limits" in resources:
                resources["requests"] = {**resources["limits"], **resources.get("requests", {})}

    def row_conditions(self, obj: Object) -> list[dict[str, str]]:
        """Return that the pod is completed, if it is."""
        phase = obj.get("status", {}).get("phase", "")
        if phase not in _COMPLETED:
            return []
        message = _COMPLETED[phase]
        return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]

    def prepare_for_create(self, obj: Object) -> None:
        """Set the status; a negative grace period is 1."""
        super().prepare_for_create(obj)
        _correct_grace_period(obj["spec"])
        if obj["spec"].get("schedulingGates"):
            obj["status"]["conditions"] = [_gated(obj["metadata"]["creationTimestamp"])]

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; a negative grace period is 1."""
        super().prepare_for_update(new, old)
        _correct_grace_period(new["spec"])

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything except the status; a status without a class keeps the class."""
        super().prepare_for_status_update(new, old)
        if not new.setdefault("status", {}).get("qosClass"):
            take(new["status"], old.get("status", {}), "qosClass")

    def prepare_for_subresource(self, subresource: str, new: Object, old: Object) -> None:
        """Keep everything except the fields of the subresource."""
        wanted = new["spec"]
        if subresource not in _SUBRESOURCES_OF_SPEC:
            return
        kept = copy_json(old["spec"])
        for key in (new.keys() | old.keys()) - {"metadata"}:
            take(new, old, key)
        for key in ("labels", "annotations", "finalizers", "ownerReferences"):
            take(new["metadata"], old["metadata"], key)
        if subresource == "ephemeralcontainers":
            take(kept, wanted, "ephemeralContainers")
        elif ordering_errors(wanted, kept):  # which validation reports
            kept = wanted
        else:
            _take_resources(kept, wanted)
        new["spec"] = kept

    def reset_fields(self, subresource: str, api_version: str) -> FieldSet:
        """Return nothing for subresources that write the spec, as upstream."""
        if subresource in _SUBRESOURCES_OF_SPEC:
            return FieldSet()
        return super().reset_fields(subresource, api_version)

    def initial_status(self, obj: Object) -> Object:
        """Return the phase Pending and the quality of service class."""
        return {"phase": "Pending", "qosClass": quality_of_service(obj["spec"])}

    def spec_changed(self, new: Object, old: Object) -> bool:
        """Return True if the spec has changed; the binding to a node does not count."""
        unbound = ({**pod, "spec": {**pod["spec"], "nodeName": ""}} for pod in (new, old))
        return super().spec_changed(*unbound)

    def grace_period(self, obj: Object, requested: int | None) -> int:
        """Return the grace period of a pod that runs on a node; 0 for others."""
        status = obj.get("status", {})
        if not obj["spec"].get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
            return 0
        if requested is not None:
            return requested
        seconds: int = obj["spec"].get("terminationGracePeriodSeconds", 30)
        return seconds

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of an update: as upstream, added tolerations are checked twice."""
        errors = super().validate_update(new, old)
        if _toleration_errors(new["spec"], old["spec"]):
            return errors
        return errors + [error for error in errors if error.field.startswith("spec.tolerations[")]

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return the changes of fields and annotations that may not change."""
        return _annotation_errors(new, old) + _change_errors(new["spec"], old["spec"])

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a status; ended containers stay so unless the pod restarts them."""
        errors = super().validate_status_update(new, old)
        status, before = new.get("status", {}), old.get("status", {})
        for index, condition in enumerate(status.get("conditions") or ()):
            if condition["type"] not in _SYSTEM_CONDITIONS:
                path = f"status.conditions[{index}].Type"  # as upstream
                errors += [
                    FieldError.invalid(path, condition["type"], problem)
                    for problem in label_key_problems(condition["type"])
                ]
        errors += _address_errors(status)
        node = status.get("nominatedNodeName")
        if node and node != before.get("nominatedNodeName") and old["spec"].get("nodeName"):
            detail = "may not be set on pods that are already bound to a node"
            errors.append(FieldError.forbidden("status.nominatedNodeName", detail))
        policy = old["spec"].get("restartPolicy")
        for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
            ephemeral = field.startswith("ephemeral")
            errors += _restarted(
                status.get(field) or (),
                before.get(field) or (),
                "Never" if ephemeral else policy,
                f"status.{field}",
            )
        return errors

    def validate_subresource_update(
        self, subresource: str, new: Object, old: Object
    ) -> list[FieldError]:
        """Return the errors of a change through a subresource."""
        if subresource == "binding":
            return []
        errors = self.table.validate(new, old)
        if subresource == "ephemeralcontainers":
            return errors + _ephemeral_errors(new["spec"], old["spec"])
        if subresource == "resize":
            return errors + resize_errors(new, old)
        return errors

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return what is accepted and probably wrong."""
        if old is not None:
            return []
        return name_warnings(new, "the Pod's hostname") + pod_warnings(new)


def _join_addresses(status: Object) -> None:
    """Set the address of a pod and the list of its addresses from each other."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def _address_errors(status: Object) -> list[FieldError]:
    """Return the addresses of a status that contradict each other."""
    errors = []
    if hosts := status.get("hostIPs"):
        first = hosts[0].get("ip", "")
        if first != status.get("hostIP", ""):
            detail = "must be equal to `hostIP`"
            errors.append(FieldError.invalid("status.hostIPs[0].ip", first, detail))
    for field in ("podIPs", "hostIPs"):
        addresses = [item.get("ip", "") for item in status.get(field) or ()]
        families = {":" in address for address in addresses}
        if len(addresses) > len(families):
            detail = "may specify no more than one IP for each IP family"
            errors.append(FieldError.invalid(f"status.{field}", addresses, detail))
    return errors


_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _annotation_errors(new: Object, old: Object) -> list[FieldError]:
    """Return the changes of annotations that may not change."""
    after, before = (pod["metadata"].get("annotations", {}) for pod in (new, old))
    return [
        FieldError.forbidden(f"metadata.annotations[{key}]", "may not be added, removed or updated")
        for key in after.keys() | before.keys()
        if (key == _MIRROR or key.startswith(_APP_ARMOR)) and after.get(key) != before.get(key)
    ]


_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def _restarted(
    new: Sequence[Object], old: Sequence[Object], policy: str | None, path: str
) -> list[FieldError]:
    """Return the containers that run again although the policy does not restart them."""
    if policy == "Always":
        return []
    running = {item["name"] for item in new if "terminated" not in item.get("state", {})}
    detail = "may not be transitioned to non-terminated state"
    return [
        FieldError.forbidden(f"{path}[{index}].state", detail)
        for index, item in enumerate(old)
        if (ended := item.get("state", {}).get("terminated")) is not None
        and not (policy == "OnFailure" and ended.get("exitCode"))
        and item["name"] in running
    ]


def _containers(spec: Object) -> Iterator[Object]:
    for name in _CONTAINERS:
        yield from spec.get(name) or ()


def _correct_grace_period(spec: Object) -> None:
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _gated(now: str) -> Object:
    """Return the condition of a pod that may not be scheduled yet."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }


def _take_resources(spec: Object, wanted: Object) -> None:
    """Copy resources and resize policies of containers of the same name."""
    for field in _CONTAINERS:
        by_name = {container["name"]: container for container in wanted.get(field) or ()}
        for container in spec.get(field) or ():
            if (other := by_name.get(container["name"])) is not None:
                take(container, other, "resources")
                take(container, other, "resizePolicy")


# -- what may change


def _change_errors(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in _CONTAINERS:
        path = f"spec.{field}"
        after, before = new.get(field) or [], old.get(field) or []
        if len(after) != len(before):
            detail = "pod updates may not add or remove containers"
            return [*errors, FieldError.forbidden(path, detail)]
        for index, container in enumerate(after):
            image = container.get("image", "")
            if not image:
                errors.append(FieldError.required(f"{path}[{index}].image"))
            elif image != image.strip():
                detail = "must not have leading or trailing whitespace"
                errors.append(FieldError.invalid(f"{path}[{index}].image", image, detail))
    deadline, before_deadline = (spec.get("activeDeadlineSeconds") for spec in (new, old))
    if (problem := _deadline_problem(deadline, before_deadline)) is not None:
        errors.append(FieldError.invalid("spec.activeDeadlineSeconds", deadline, problem))
        if deadline is not None:
            return errors
    errors += _toleration_errors(new, old)
    known = {gate["name"] for gate in old.get("schedulingGates") or ()}
    errors += [
        FieldError.forbidden(f"spec.schedulingGates[{index}].name", "only deletion is allowed")
        for index, gate in enumerate(new.get("schedulingGates") or ())
        if gate["name"] not in known
    ]
    compared = _comparable(new, old)
    if known and compared.get("nodeSelector") != old.get("nodeSelector"):
        selector = compared.get("nodeSelector") or {}
        if not (old.get("nodeSelector") or {}).items() <= selector.items():
            detail = "only additions to nodeSelector are allowed (no mutations or deletions)"
            errors.append(FieldError.invalid("spec.nodeSelector", selector, detail))
        take(compared, old, "nodeSelector")
    if known:
        errors += _affinity_errors(compared, old)
    if compared != old:
        detail = "pod updates may not change fields other than images, deadlines and tolerations"
        errors.append(FieldError.forbidden("spec", detail))
    return errors


_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def _affinity_errors(compared: Object, old: Object) -> list[FieldError]:
    """Check that the node affinity of a gated pod only grows; give `compared` the old one."""
    after, before = (spec.get("affinity") or {} for spec in (compared, old))
    wanted, had = after.get("nodeAffinity"), before.get("nodeAffinity")
    if wanted == had:
        return []
    others = {key: value for key, value in after.items() if key != "nodeAffinity"}
    if had is not None:
        others["nodeAffinity"] = had
    if others or "affinity" in old:
        compared["affinity"] = others
    else:
        compared.pop("affinity")
    required = (had or {}).get(_REQUIRED_TERMS)
    terms = (required or {}).get("nodeSelectorTerms") or []
    new_terms = ((wanted or {}).get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{_REQUIRED_TERMS}.nodeSelectorTerms"
    if terms and len(new_terms) != len(terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [FieldError.invalid(path, new_terms, detail)]
    return [
        FieldError.invalid(f"{path}[{index}]", term, "only additions are allowed")
        for index, (term, known) in enumerate(zip(new_terms, terms, strict=False))
        if not _only_adds(term, known)
    ]


def _only_adds(term: Object, known: Object) -> bool:
    """Return True if a term begins with the requirements that it had, and was not empty."""
    fields = ("matchExpressions", "matchFields")
    if not any(known.get(field) for field in fields):
        return not any(term.get(field) for field in fields)
    return all(
        (term.get(field) or [])[: len(known.get(field) or ())] == (known.get(field) or [])
        for field in fields
    )


def _deadline_problem(new: int | None, old: int | None) -> str | None:
    if new is None:
        return None if old is None else "must not update from a positive integer to nil value"
    if not 0 <= new <= _MOST_SECONDS:
        return f"must be between 0 and {_MOST_SECONDS}, inclusive"
    if old is not None and old < new:
        return "must be less than or equal to previous value"
    return None


def _toleration_errors(new: Object, old: Object) -> list[FieldError]:
    """Check that tolerations are only added, or change their seconds."""

    def timeless(spec: Object) -> list[Object]:
        return [
            {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
            for toleration in spec.get("tolerations") or ()
        ]

    kept = timeless(new)
    if all(toleration in kept for toleration in timeless(old)):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [FieldError.forbidden("spec.tolerations", detail)]


_CHANGEABLE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")


def _comparable(new: Object, old: Object) -> Object:
    """Return the new spec with the old values of what may change."""
    compared = dict(new)
    for field in _CHANGEABLE:
        take(compared, old, field)
    for field in _CONTAINERS:
        if new.get(field):
            compared[field] = [
                {**container, "image": before.get("image", "")}
                for container, before in zip(new[field], old[field], strict=True)
            ]
    return compared


def _ephemeral_errors(new: Object, old: Object) -> list[FieldError]:
    """Check that ephemeral containers are only added."""
    wanted = {container["name"]: container for container in new.get("ephemeralContainers") or ()}
    path = "spec.ephemeralContainers"
    return [
        FieldError.forbidden(path, f'existing ephemeral containers "{name}" may not be changed')
        for container in old.get("ephemeralContainers") or ()
        if wanted.get(name := container["name"]) != container
    ]
