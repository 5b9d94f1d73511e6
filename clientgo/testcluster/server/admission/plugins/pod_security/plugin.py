"""The PodSecurity plugin: refuses pods that a level does not allow, and warns of them.

Promises: a namespace without labels for it costs a look at its labels.

Does not promise a configuration: the defaults allow everything, and nothing is exempt.

Upstream: ``k8s.io/pod-security-admission/admission``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from clientgo.testcluster.server.admission.plugins.plugin import Plugin
from clientgo.testcluster.server.admission.plugins.pod_security.checks import Violation
from clientgo.testcluster.server.admission.plugins.pod_security.levels import Level, Levels
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.resources.errors import forbidden, invalid
from clientgo.testcluster.server.storage.storage import CollectionKey, Object, Storage, StoredObject

_NAMESPACES: Final[CollectionKey] = ("", "namespaces")
_PODS: Final[CollectionKey] = ("", "pods")
_TEMPLATES: Final[dict[CollectionKey, tuple[str, ...]]] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where the template of pods is."""

_MOST_PODS: Final = 3000
_MOST_SECONDS: Final = 1.0
"""How many pods are looked at when a namespace gets another level, and how long; as upstream."""


class PodSecurity(Plugin):
    """Refuses pods by the level of their namespace."""

    resources: ClassVar = (_NAMESPACES, _PODS, *_TEMPLATES)
    subresources: ClassVar = ("", "ephemeralcontainers")

    def __init__(self, storage: Storage) -> None:
        self._namespaces = storage.collection(_NAMESPACES)
        self._pods = storage.collection(_PODS)

    def admit(self, review: Review, obj: Object) -> None:
        """Refuse a pod or wrong labels; warn of templates, and of pods that exist already."""
        key = review.resource.collection_key
        if key == _NAMESPACES:
            self._review_namespace(review, obj)
            return
        namespace = self._namespaces.get(review.namespace)
        levels = Levels.of(namespace.labels) if namespace else None
        if levels is None:
            return
        template = obj
        for name in _TEMPLATES.get(key, ()):
            template = template[name]
        if key == _PODS:
            if review.old is not None and _images(obj) == _images(review.old):
                return
            if problems := levels.enforce.violations(template):
                why = f'violates PodSecurity "{levels.enforce}": {_list(problems)}'
                raise forbidden(review.resource, obj["metadata"]["name"], why)
            if levels.warn == levels.enforce:
                return
        if problems := levels.warn.violations(template):
            review.warnings.append(f'would violate PodSecurity "{levels.warn}": {_list(problems)}')

    def _review_namespace(self, review: Review, obj: Object) -> None:
        new = Levels.of(obj["metadata"].get("labels") or {})
        if new is None:
            return
        old = Levels.of(review.old["metadata"].get("labels") or {}) if review.old else None
        if new.errors and (old is None or new.errors != old.errors):
            raise invalid(review.resource, review.name, new.errors)
        if review.operation is Operation.UPDATE and _is_stricter(new.enforce, old):
            review.warnings += self._existing(review.name, new.enforce)

    def _existing(self, namespace: str, level: Level) -> Iterator[str]:
        """Yield warnings of the pods of a namespace that a new level does not allow."""
        pods = _of_each_owner(self._pods.scan(namespace))
        names: dict[str, list[str]] = {}
        checked, deadline = 0, time.monotonic() + _MOST_SECONDS
        for stored in pods[:_MOST_PODS]:
            pod = stored.decode()
            if problems := level.violations(pod):
                reasons = ", ".join(problem.reason for problem in problems)
                names.setdefault(reasons, []).append(pod["metadata"]["name"])
            checked += 1
            if time.monotonic() >= deadline:
                break
        if checked < len(pods):
            yield (
                "new PodSecurity enforce level only checked against the first "
                f"{checked} of {len(pods)} existing pods"
            )
        if names:
            yield (
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
                f'level "{level}"'
            )
        yield from sorted(f"{_some(found)}: {reasons}" for reasons, found in names.items())


def _is_stricter(new: Level, old: Levels | None) -> bool:
    """Return True unless a level allows what the one before has allowed."""
    if new.strictness == 0:
        return False
    if old is None or new.version != old.enforce.version:
        return True
    return new.strictness > old.enforce.strictness


def _images(pod: Object) -> list[tuple[str, str, str]]:
    """Return what can change in a pod, and matters."""
    fields = ("containers", "initContainers", "ephemeralContainers")
    return [
        (field, item["name"], item.get("image", ""))
        for field in fields
        for item in pod["spec"].get(field) or ()
    ]


def _list(problems: Iterable[Violation]) -> str:
    return ", ".join(map(str, problems))


def _of_each_owner(pods: Iterable[StoredObject]) -> list[StoredObject]:
    """Return pods, first one of each owner, as others of an owner are the same."""
    first: list[StoredObject] = []
    others: list[StoredObject] = []
    owners: set[tuple[str, ...]] = set()
    for pod in pods:
        (others if pod.owners in owners else first).append(pod)
        if pod.owners:
            owners.add(pod.owners)
    return first + others


def _some(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other pod{'' if others == 1 else 's'})"
