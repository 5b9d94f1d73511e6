"""The controller of CustomResourceDefinitions: accept, establish, serve, remove.

Promises: a CRD is served soon after it was stored, in all its served versions; a changed one
replaces what is served. Deleting one deletes its objects first, as far as finalizers allow, and
then ends the watches. A deletion that admission refuses is tried again.

Upstream: apiextensions-apiserver ``pkg/controller`` (status, establish, finalizer) and
``pkg/apiserver/customresource_handler.go``.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from msgspec.structs import astuple

from clientgo.meta.json_values import copy_json, json_equal
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.api_services import ApiServices
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.crds.custom_resources import resources_of
from clientgo.testcluster.server.crds.naming import Names, TakenNames, accept_names
from clientgo.testcluster.server.crds.validation import CLEANUP_FINALIZER, is_condition_true
from clientgo.testcluster.server.http.webhook_client import WebhookClient
from clientgo.testcluster.server.objects.options import DeleteOptions
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.resources.resource import ReadAgain, Resource
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, StoredObject

LOG = logging.getLogger("clientgo.testcluster.server")


class _Served(msgspec.Struct, frozen=True):
    """The parts of a definition that what is served depends on."""

    versions: Any
    names: Any
    conversion: Any

    def same_as(self, other: _Served) -> bool:
        """Return True if nothing differs. In a schema, 1 and true differ."""
        return json_equal([*astuple(self)], [*astuple(other)])


class _Known(msgspec.Struct, frozen=True):
    """What of a CRD matters to the others of its group."""

    group: str
    names: Names
    """The accepted ones."""
    versions: tuple[str, ...]
    """The served ones; none until it is established."""


def _known(crd: Object) -> _Known:
    served = [item["name"] for item in crd["spec"]["versions"] if item["served"]]
    return _Known(
        crd["spec"]["group"],
        crd["status"].get("acceptedNames", {}),
        tuple(served) if is_condition_true(crd, "Established") else (),
    )


class DefinitionController:
    """Serves what stored CRDs define."""

    def __init__(
        self,
        state: State,
        writer: ObjectWriter,
        work: BackgroundWork,
        resource: Resource,
        api_services: ApiServices,
    ) -> None:
        """Follow the definitions, which are served as ``resource``."""
        # Apart from the threads of admission webhooks, whose handlers may read what is converted.
        self._conversions = WebhookClient("apiserver-conversion")
        self._api_services = api_services
        self.collection = state.storage.collection(resource.collection_key)
        self._state = state
        self._storage = state.storage
        self._registry = state.registry
        self._writer = writer
        self._work = work
        self._served: dict[str, tuple[_Served | None, ReadAgain]] = {}
        """Each CRD as last served, and which objects may be older than its versions."""
        self._known: dict[str, _Known] = {}
        """What of each CRD matters to the others of its group."""
        state.storage.observe(self._observe)

    def close(self) -> None:
        """End the threads that call conversion webhooks."""
        self._conversions.close()

    def _observe(self, collection: Collection, change: Change) -> None:
        if collection is self.collection:
            name = change.current.key
            if change.type is not EventType.DELETED:
                crd = change.current.decode()
                self._known[name] = _known(crd)
            self._work.start(self._sync(name))
        elif change.type is EventType.DELETED and not len(collection):
            key = collection.key
            if key in self._registry.terminating:
                self._work.start(self._sync(f"{collection.plural}.{collection.group}"))

    async def _sync(self, name: str) -> None:
        stored = self.collection.get(name)
        if stored is None:
            self._work.forget(self._sync, name)
            self._free_names(name)
            return
        crd = stored.decode()
        if "deletionTimestamp" in crd["metadata"]:
            await self._remove(name, stored, crd)
        else:
            self._establish(name, stored, crd)

    # -- names

    def _free_names(self, name: str) -> None:
        """Forget the names of a deleted definition; others of its group may want them."""
        if known := self._known.pop(name, None):
            self._check_others(name, known.group)

    def _check_others(self, name: str, group: str) -> None:
        for other, known in self._known.items():
            if other != name and known.group == group:
                self._work.start(self._sync(other))

    def _taken_names(self, name: str, group: str) -> TakenNames:
        """Return the names that the other resources of a group have."""
        taken = TakenNames()
        for other, known in self._known.items():
            if other != name and known.group == group:
                taken.add(known.names)
        for resource in self._registry:
            if resource.group == group and not resource.is_custom:
                taken.add(
                    {
                        "plural": resource.plural,
                        "singular": resource.singular,
                        "shortNames": resource.short_names,
                        "kind": resource.kind,
                        "listKind": resource.list_kind,
                    }
                )
        return taken

    # -- serving

    def _establish(self, name: str, stored: StoredObject, crd: Object) -> None:
        status, group = crd["status"], crd["spec"]["group"]
        before = copy_json(status)
        taken = self._taken_names(name, group)
        acceptance = accept_names(crd["spec"]["names"], status.get("acceptedNames", {}), taken)
        status["acceptedNames"] = acceptance.names
        if acceptance.reason:
            self._set_condition(
                crd, "NamesAccepted", "False", acceptance.reason, acceptance.message
            )
            if not is_condition_true(crd, "Established"):
                message = "not all names are accepted"
                self._set_condition(crd, "Established", "False", "NotAccepted", message)
        else:
            message = "no conflicts found"
            self._set_condition(crd, "NamesAccepted", "True", "NoConflicts", message)
            message = "the initial names have been accepted"
            self._set_condition(crd, "Established", "True", "InitialNamesAccepted", message)
        if status != before:
            self._storage.put(self.collection, name, crd, stored.fields)
            if acceptance.names != before.get("acceptedNames"):
                self._check_others(name, group)
            return
        if is_condition_true(crd, "Established"):
            self._serve(name, crd)

    def _serve(self, name: str, crd: Object) -> None:
        served, read_again = self._served.get(name, (None, self._changed_before(crd)))
        wanted = _Served(
            crd["spec"]["versions"], crd["status"]["acceptedNames"], crd["spec"].get("conversion")
        )
        if served and served.same_as(wanted) and self._is_served(crd):
            return
        if served is not None and not json_equal(served.versions, wanted.versions):
            read_again = ReadAgain(self._storage.version)
        self._served[name] = (wanted, read_again)
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        self._registry.remove(group, plural)
        self._state.ownership.forget(group, plural)
        for resource in resources_of(crd, read_again, self._conversions):
            self._registry.add(resource)
        self._api_services.sync(group, self._versions(group))
        if served is not None:
            self._state.watches.end_of(group, plural)

    def _versions(self, group: str, without: str = "") -> set[str]:
        """Return the served versions of a group, also of definitions that are not served yet."""
        return {
            version
            for name, known in self._known.items()
            if known.group == group and name != without
            for version in known.versions
        }

    def _changed_before(self, crd: Object) -> ReadAgain:
        """Return until when objects of a newly served CRD may be of other schemas."""
        is_first = crd["metadata"].get("generation") == 1
        return ReadAgain(0 if is_first else self._storage.restored_version)

    def _is_served(self, crd: Object) -> bool:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        return any(
            self._registry.find(group, item["name"], plural) for item in crd["spec"]["versions"]
        )

    def _set_condition(
        self, crd: Object, kind: str, status: str, reason: str, message: str
    ) -> None:
        conditions = crd["status"].get("conditions") or []
        current = next((item for item in conditions if item["type"] == kind), None)
        if current is None:
            current = {"type": kind}
            crd["status"]["conditions"] = [*conditions, current]
        if current.get("status") != status:
            current |= {"status": status, "lastTransitionTime": self._state.timestamp()}
        current |= {"reason": reason, "message": message}

    # -- removing

    async def _remove(self, name: str, stored: StoredObject, crd: Object) -> None:
        """Delete the objects; delete the definition with the last of them."""
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        self._registry.terminating.add((group, plural))
        if is_condition_true(crd, "Established"):
            self._serve(name, crd)  # its objects are deleted as what they are now
        if not is_condition_true(crd, "Terminating"):
            message = "CustomResource deletion is in progress"
            self._set_condition(crd, "Terminating", "True", "InstanceDeletionInProgress", message)
            self._storage.put(self.collection, name, crd, stored.fields)
            return
        collection = self._storage.collection((group, plural))
        resource, refused = self._resource_to_delete(crd), False
        async for item in in_turns(list(collection.scan())):
            namespace, _, object_name = item.key.rpartition("/")
            target = Target(resource, namespace, object_name)
            try:
                await self._writer.delete(target, DeleteOptions())
            except FailedRequestError as error:
                refused = refused or collection.get(item.key) is not None
                LOG.info("%s keeps %s: %s", name, item.key, error)
        if refused:
            self._work.retry(self._sync, name)
        else:
            self._work.forget(self._sync, name)
        if len(collection) == 0:
            self._finish(name, group, plural)

    def _resource_to_delete(self, crd: Object) -> Resource:
        """Return a resource of the objects; they are deleted even if no version is served."""
        spec = crd["spec"]
        served = self._registry.of_collection((spec["group"], spec["names"]["plural"]))
        if served:
            return served[0]
        stored = [{**item, "served": True} for item in spec["versions"] if item["storage"]]
        only = {
            "spec": {**spec, "versions": stored, "conversion": {"strategy": "None"}},
            "status": {"acceptedNames": spec["names"]},
        }
        [resource] = resources_of(only, ReadAgain(self._storage.version))
        return resource

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
                self._storage.put(self.collection, name, crd, stored.fields)
            return
        self._registry.terminating.discard((group, plural))
        self._served.pop(name, None)
        self._registry.remove(group, plural)
        self._state.ownership.forget(group, plural)
        self._state.watches.end_of(group, plural)
        self._storage.drop((group, plural))
        self._api_services.sync(group, self._versions(group, without=name))
        self._storage.delete(self.collection, name)
