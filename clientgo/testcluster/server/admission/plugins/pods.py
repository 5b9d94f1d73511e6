"""Plugins for pods: priority, tolerations of failing nodes, runtime class.

Upstream: ``plugin/pkg/admission/{priority,defaulttolerationseconds,runtimeclass}``.
"""

from __future__ import annotations

from typing import ClassVar

from clientgo.testcluster.server.admission.plugins.plugin import Cached, Plugin
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.resources.errors import FailedRequestError, forbidden
from clientgo.testcluster.server.storage.storage import Collection, CollectionKey, Object, Storage

PODS: CollectionKey = ("", "pods")
PRIORITY_CLASSES: CollectionKey = ("scheduling.k8s.io", "priorityclasses")
_RUNTIME_CLASSES: CollectionKey = ("node.k8s.io", "runtimeclasses")


class Priority(Plugin):
    """Sets a pod's priority by its class; one default class is allowed."""

    resources: ClassVar = (PODS, PRIORITY_CLASSES)

    def __init__(self, storage: Storage) -> None:
        self._classes = storage.collection(PRIORITY_CLASSES)
        self._default = Cached(storage, PRIORITY_CLASSES, _default_priority)

    def admit(self, review: Review, obj: Object) -> None:
        """Set priority and preemption policy of a pod; refuse a second default class."""
        if review.resource.collection_key == PRIORITY_CLASSES:
            self._check_default(review, obj)
        elif review.operation is Operation.CREATE:
            self._set(review, obj["spec"])
        elif review.old is not None:
            for field in ("priority", "preemptionPolicy"):
                if field in review.old["spec"]:
                    obj["spec"].setdefault(field, review.old["spec"][field])

    def _check_default(self, review: Review, obj: Object) -> None:
        default = self._default.get()
        if obj.get("globalDefault") and default and default["metadata"]["name"] != review.name:
            name = default["metadata"]["name"]
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise forbidden(review.resource, review.name, why)

    def _set(self, review: Review, spec: Object) -> None:
        chosen = self._class_of(review, spec)
        for field, value, what in (
            ("priority", chosen["value"], "the integer value of priority"),
            (
                "preemptionPolicy",
                chosen.get("preemptionPolicy", "PreemptLowerPriority"),
                "the string value of PreemptionPolicy",
            ),
        ):
            if spec.setdefault(field, value) != value:
                why = (
                    f"{what} ({spec[field]}) must not be provided in pod spec; priority admission "
                    f"controller computed {value} from the given PriorityClass name"
                )
                raise forbidden(review.resource, review.name, why)

    def _class_of(self, review: Review, spec: Object) -> Object:
        name = spec.get("priorityClassName")
        if not name:
            default = self._default.get()
            if default is None:
                return {"value": 0}
            spec["priorityClassName"] = default["metadata"]["name"]
            return default
        stored = self._classes.get(name)
        if stored is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden(review.resource, review.name, why)
        return stored.decode()


def _default_priority(classes: Collection) -> Object | None:
    """Return the default class with the lowest value."""
    found = [stored.decode() for stored in classes.scan()]
    defaults = [item for item in found if item.get("globalDefault")]
    return min(defaults, key=lambda item: int(item["value"]), default=None)


_NODE_FAILURES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NODE_FAILURE_SECONDS = 300


class NodeFailureTolerations(Plugin):
    """Lets pods stay for some minutes on a node that fails."""

    resources: ClassVar = (PODS,)

    def admit(self, review: Review, obj: Object) -> None:
        """Add the tolerations that a pod does not have."""
        tolerations = obj["spec"].get("tolerations", [])
        missing = [
            key for key in _NODE_FAILURES if not any(_tolerates(item, key) for item in tolerations)
        ]
        if missing:
            added = map(_node_failure_toleration, missing)
            obj["spec"]["tolerations"] = [*tolerations, *added]


def _tolerates(toleration: Object, key: str) -> bool:
    """Return True if a toleration is about the eviction of pods for a taint."""
    keys, effects = ("", key), ("", "NoExecute")
    return toleration.get("key", "") in keys and toleration.get("effect", "") in effects


def _node_failure_toleration(key: str) -> Object:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _NODE_FAILURE_SECONDS,
    }


class RuntimeClasses(Plugin):
    """Sets what a runtime class says of the pods that it runs."""

    resources: ClassVar = (PODS,)

    def __init__(self, storage: Storage) -> None:
        self._classes = storage.collection(_RUNTIME_CLASSES)

    def admit(self, review: Review, obj: Object) -> None:
        """Set overhead, node selector and tolerations of a new pod with a runtime class."""
        spec = obj["spec"]
        name = spec.get("runtimeClassName")
        if review.operation is not Operation.CREATE:
            return
        if not name:
            _refuse_overhead(review, spec)
            return
        stored = self._classes.get(name)
        if stored is None:
            raise forbidden(
                review.resource, review.name, f'pod rejected: RuntimeClass "{name}" not found'
            )
        found = stored.decode()
        overhead = found.get("overhead", {}).get("podFixed")
        if not overhead:
            _refuse_overhead(review, spec)
        elif spec.setdefault("overhead", overhead) != overhead:
            raise _rejected(review, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        scheduling = found.get("scheduling", {})
        selector = scheduling.get("nodeSelector", {})
        own = spec.get("nodeSelector", {})
        conflicts = [key for key in selector.keys() & own.keys() if selector[key] != own[key]]
        if conflicts:
            why = f"conflict: runtimeClass.scheduling.nodeSelector[{conflicts[0]}]"
            raise _rejected(review, why)
        if selector:
            spec["nodeSelector"] = {**own, **selector}
        tolerations = spec.get("tolerations", [])
        if added := [i for i in scheduling.get("tolerations", ()) if i not in tolerations]:
            spec["tolerations"] = [*tolerations, *added]


def _refuse_overhead(review: Review, spec: Object) -> None:
    if spec.get("overhead"):
        why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise _rejected(review, why)


def _rejected(review: Review, why: str) -> FailedRequestError:
    return forbidden(review.resource, review.name, f"pod rejected: {why}")
