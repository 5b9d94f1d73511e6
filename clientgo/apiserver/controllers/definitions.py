"""CustomResourceDefinitions: accepted, established, served, and taken away again.

Promises: a CRD that is stored is served a moment later, in all its served versions; a changed one
replaces what is served; deleting one deletes its objects first, whatever finalizers make of that,
and then ends the watches.

Upstream: apiextensions-apiserver ``pkg/controller`` (status, establish, finalizer) and
``pkg/apiserver/customresource_handler.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clientgo.apiserver.crds.custom_resources import resources_of
from clientgo.apiserver.crds.validation import validate_crd, validate_crd_change, validate_crd_spec
from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy
from clientgo.apiserver.objects.writes import Target, delete_object
from clientgo.apiserver.requests.options import DeleteOptions
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import StatusError
from clientgo.apiserver.storage.storage import Change, Collection, EventType, Object, StoredObject
from clientgo.schema import FieldError

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class CrdStrategy(StatusStrategy):
    """The definitions themselves."""

    allow_unconditional_update = False
    counts_generations = True
    returns_deleted_object = True
    deletion_finalizers = (CLEANUP_FINALIZER,)

    def default(self, obj: Object) -> None:
        """Fill in the names that follow from others, and the conversion strategy."""
        spec = obj["spec"]
        spec.setdefault("conversion", {"strategy": "None"})
        names = spec["names"]
        if kind := names.get("kind"):
            for field, value in (("singular", kind.lower()), ("listKind", f"{kind}List")):
                if not names.get(field):
                    names[field] = value

    def initial_status(self, obj: Object) -> Object:
        """No conditions yet; the storage version is the first stored one."""
        versions = obj["spec"].get("versions", ())
        return {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [item["name"] for item in versions if item.get("storage")],
        }

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status, but note a new storage version."""
        super().prepare_for_update(new, old)
        stored = list(old.get("status", {}).get("storedVersions", ()))
        for version in new["spec"].get("versions", ()):
            if version.get("storage") and version["name"] not in stored:
                stored.append(version["name"])
        new["status"] = {**new.get("status", {}), "storedVersions": stored}

    def validate(self, obj: Object) -> list[FieldError]:
        """The definition's own rules, which say all that its type does."""
        return validate_crd(obj)

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """What a definition can't change any more, and what is wrong with the rest."""
        return validate_crd_change(new, old) or validate_crd_spec(new)


class CrdController:
    """Serves what stored CRDs define."""

    def __init__(self, cluster: Cluster, resource: Resource) -> None:
        self.resource = resource
        self._cluster = cluster
        self.collection = cluster.storage.collection(resource.collection_key)
        self._schemas: dict[str, tuple[Any, int]] = {}
        """Versions of each CRD as last served, and the resource version since which they are so."""
        self._terminating: dict[tuple[str, str], str] = {}
        """CRD by the collection whose objects it waits for."""
        cluster.storage.observe(self._observe)

    def is_terminating(self, resource: Resource) -> bool:
        """Whether the definition of a resource is being deleted."""
        return resource.collection_key in self._terminating

    def _observe(self, collection: Collection, change: Change) -> None:
        if collection is self.collection:
            if change.type is not EventType.DELETED:
                self._cluster.spawn(self._sync(change.current.key))
        elif change.type is EventType.DELETED:
            name = self._terminating.get((collection.group, collection.plural))
            if name is not None and not len(collection):
                self._cluster.spawn(self._sync(name))

    async def _sync(self, name: str) -> None:
        stored = self.collection.get(name)
        if stored is None:
            return
        crd = stored.decode()
        if "deletionTimestamp" in crd["metadata"]:
            await self._remove(name, stored, crd)
        else:
            self._establish(name, stored, crd)

    # -- serving

    def _establish(self, name: str, stored: StoredObject, crd: Object) -> None:
        conflict = self._name_conflict(crd)
        status = crd["status"]
        before = dict(status)
        if conflict:
            self._set_condition(crd, "NamesAccepted", "False", *conflict)
            if not _is_true(crd, "Established"):
                message = "not all names are accepted"
                self._set_condition(crd, "Established", "False", "NotAccepted", message)
        else:
            status["acceptedNames"] = crd["spec"]["names"]
            message = "no conflicts found"
            self._set_condition(crd, "NamesAccepted", "True", "NoConflicts", message)
            message = "the initial names have been accepted"
            self._set_condition(crd, "Established", "True", "InitialNamesAccepted", message)
        if status != before:
            self._cluster.storage.put(self.collection, name, crd, stored.fields)
            return
        if _is_true(crd, "Established"):
            self._serve(name, crd)

    def _serve(self, name: str, crd: Object) -> None:
        versions, since = self._schemas.get(name, (None, self._changed_before(crd)))
        wanted = crd["spec"]["versions"]
        if versions == wanted and self._is_served(crd):
            return
        if versions is not None and versions != wanted:
            since = self._cluster.storage.version
        self._schemas[name] = (wanted, since)
        registry = self._cluster.registry
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        registry.remove(group, plural)
        self._cluster.ownership.forget(group, plural)
        for resource in resources_of(crd, since):
            registry.add(resource)
        self._cluster.end_watches_of(group, plural, replaced=versions is not None)

    def _changed_before(self, crd: Object) -> int:
        """A version since which the schemas of a CRD that is first served have not changed."""
        if crd["metadata"].get("generation") == 1:
            return 0
        return self._cluster.storage.restored_version

    def _is_served(self, crd: Object) -> bool:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        return any(
            self._cluster.registry.find(group, item["name"], plural)
            for item in crd["spec"]["versions"]
        )

    def _name_conflict(self, crd: Object) -> tuple[str, str] | None:
        """Reason and message, if another resource of the group has one of the names."""
        spec = crd["spec"]
        names = spec["names"]
        wanted_kinds = {names["kind"], names["listKind"]}
        for other in self._cluster.registry:
            if other.group != spec["group"] or other.plural == names["plural"]:
                continue
            taken = {other.plural, other.singular, *other.short_names}
            for reason, wanted in (
                ("PluralConflict", {names["plural"]}),
                ("SingularConflict", {names["singular"]}),
                ("ShortNamesConflict", set(names.get("shortNames", ()))),
            ):
                if clash := taken & wanted:
                    return reason, f"{sorted(clash)} is already in use"
            if clash := {other.kind, other.list_kind} & wanted_kinds:
                return "KindConflict", f"{sorted(clash)} is already in use"
        return None

    def _set_condition(
        self, crd: Object, kind: str, status: str, reason: str, message: str
    ) -> None:
        conditions = crd["status"].get("conditions") or []
        current = next((item for item in conditions if item["type"] == kind), None)
        if current and (current["status"], current["reason"]) == (status, reason):
            return
        condition = {
            "type": kind,
            "status": status,
            "lastTransitionTime": self._cluster.timestamp(),
            "reason": reason,
            "message": message,
        }
        rest = [item for item in conditions if item["type"] != kind]
        crd["status"]["conditions"] = [*rest, condition]

    # -- taking away

    async def _remove(self, name: str, stored: StoredObject, crd: Object) -> None:
        """Delete the objects; when the last is gone, the definition goes as well."""
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        self._terminating[(group, plural)] = name
        if _is_true(crd, "Established") and not self._is_served(crd):
            self._serve(name, crd)  # restored; its objects are deleted as what they are
        if not _is_true(crd, "Terminating"):
            message = "CustomResource deletion is in progress"
            self._set_condition(crd, "Terminating", "True", "InstanceDeletionInProgress", message)
            self._cluster.storage.put(self.collection, name, crd, stored.fields)
            return
        collection = self._cluster.storage.collection((group, plural))
        served = [item for item in self._cluster.registry if item.collection_key == (group, plural)]
        for item in list(collection.scan()):
            namespace, _, object_name = item.key.rpartition("/")
            try:
                await delete_object(
                    self._cluster, Target(served[0], namespace, object_name), DeleteOptions()
                )
            except StatusError as error:
                self._cluster.log.info("%s keeps %s: %s", name, item.key, error)
        if len(collection) == 0:
            self._finish(name, group, plural)

    def _finish(self, name: str, group: str, plural: str) -> None:
        stored = self.collection.get(name)
        if stored is None:
            return
        crd = stored.decode()
        metadata = crd["metadata"]
        left = [item for item in metadata.get("finalizers", ()) if item != CLEANUP_FINALIZER]
        if left:
            metadata["finalizers"] = left
            if left != stored.decode()["metadata"].get("finalizers"):
                self._cluster.storage.put(self.collection, name, crd, stored.fields)
            return
        self._terminating.pop((group, plural), None)
        self._schemas.pop(name, None)
        self._cluster.registry.remove(group, plural)
        self._cluster.ownership.forget(group, plural)
        self._cluster.end_watches_of(group, plural, replaced=True)
        self._cluster.storage.drop((group, plural))
        self._cluster.storage.delete(self.collection, name)


def _is_true(crd: Object, kind: str) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(item["type"] == kind and item["status"] == "True" for item in conditions)
