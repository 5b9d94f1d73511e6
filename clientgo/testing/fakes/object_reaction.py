"""The reactor that answers from an object tracker, as a server would answer from its storage.

Promises every verb: lists and deletions of collections select by label, watches begin with what is
newer than their version, patches of all kinds apply.

Does not promise field selectors, limits and pages, which are ignored, nor selectors of any sort in
watches. A subresource is the whole object: writing ``status`` replaces it. Those of running pods
are refused. Upstream: client-go ``testing`` ObjectReaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.client import PatchKind
from clientgo.meta import (
    BadRequestError,
    MethodNotAllowedError,
    SelectorError,
    Status,
    parse_label_selector,
)
from clientgo.meta.json_values import JSONObject
from clientgo.testing.fake_source import FakeStream
from clientgo.testing.fakes.actions import Action, Verb
from clientgo.testing.tracker.object_tracker import ObjectTracker
from clientgo.testing.tracker.realism import Realism
from clientgo.testing.tracker.writes import WriteOptions, patched

_OF_RUNNING_PODS = ("attach", "exec", "log", "portforward")


class ObjectReaction:
    """A :data:`~clientgo.testing.fakes.reactors.Reactor` that serves resources from a tracker."""

    def __init__(self, tracker: ObjectTracker) -> None:
        self._tracker = tracker
        self._answers = {
            Verb.GET: self._get,
            Verb.LIST: self._list,
            Verb.WATCH: self._watch,
            Verb.CREATE: self._create,
            Verb.UPDATE: self._update,
            Verb.PATCH: self._patch,
            Verb.DELETE: self._delete,
            Verb.DELETE_COLLECTION: self._delete_collection,
        }

    def __call__(self, action: Action) -> Any:
        return self._answers[action.verb](action)

    def _get(self, action: Action) -> JSONObject:
        if action.subresource in _OF_RUNNING_PODS:
            raise MethodNotAllowedError.of(
                f"the fake client runs no pods, so there is no {action.subresource}; use an "
                "EmbeddedAPIServer with provide_programs, provide_logs and write_log"
            )
        return self._tracker.get(action.resource, action.namespace, action.name)

    def _list(self, action: Action) -> JSONObject:
        # The version is read first: what comes in between is in the list and, once more, in a
        # watch from that version, and not in neither.
        version = self._tracker.resource_version(action.resource)
        return {"metadata": {"resourceVersion": str(version)}, "items": self._selected(action)}

    def _watch(self, action: Action) -> FakeStream:
        version = action.options.get("resourceVersion", "")
        try:
            since = int(version or 0)
        except ValueError as error:
            raise BadRequestError.of(f"{version!r} is no resource version of a list") from error
        return self._tracker.watch(action.resource, action.namespace, since=since)

    def _create(self, action: Action) -> JSONObject:
        if action.subresource:
            return self._write_below(action)
        return self._tracker.create(
            action.resource, action.body, action.namespace, _options(action)
        )

    def _update(self, action: Action) -> JSONObject:
        if action.subresource:
            return self._write_below(action)
        return self._tracker.update(
            action.resource, action.body, action.namespace, _options(action)
        )

    def _write_below(self, action: Action) -> JSONObject:
        """What is of the object's own kind replaces it; an Eviction or a Scale is not stored."""
        parent = self._get(action)
        body: JSONObject = {"apiVersion": parent["apiVersion"], "kind": parent["kind"]}
        body |= action.body
        if body["kind"] != parent["kind"]:
            return body
        return self._tracker.update(action.resource, body, action.namespace, _options(action))

    def _patch(self, action: Action) -> JSONObject:
        if action.patch_kind == PatchKind.APPLY and Realism.OWNERSHIP in self._tracker.realism:
            if not isinstance(action.body, dict):
                raise BadRequestError.of(f"what is applied is an object, not {action.body!r:.100}")
            return self._tracker.apply(
                action.resource,
                action.body,
                action.namespace,
                _options(action),
                force=action.options.get("force") == "true",
            )
        return self._tracker.patch(
            action.resource,
            action.namespace,
            action.name,
            lambda live: patched(live, action.body, action.patch_kind),
            _options(action),
        )

    def _delete(self, action: Action) -> Status:
        self._tracker.delete(action.resource, action.namespace, action.name, _options(action))
        return _success()

    def _delete_collection(self, action: Action) -> Status:
        if Realism.COLLECTIONS in self._tracker.realism:
            for obj in self._selected(action):
                metadata = obj["metadata"]
                self._tracker.delete(
                    action.resource,
                    metadata.get("namespace", ""),
                    metadata["name"],
                    _options(action),
                )
        return _success()

    def _selected(self, action: Action) -> list[JSONObject]:
        try:
            selector = parse_label_selector(action.options.get("labelSelector", ""))
        except SelectorError as error:
            raise BadRequestError.of(str(error)) from error
        return [
            obj
            for obj in self._tracker.list(action.resource, action.namespace)
            if selector.matches(obj["metadata"].get("labels") or {})
        ]


def _options(action: Action) -> WriteOptions:
    return WriteOptions(
        writer=action.options.get("fieldManager", ""),
        subresource=action.subresource,
        dry_run="dryRun" in _all_options(action),
    )


def _all_options(action: Action) -> Mapping[str, Any]:
    """A deletion says in its body what other requests say in the query."""
    if action.verb in (Verb.DELETE, Verb.DELETE_COLLECTION):
        return {**action.options, **(action.body or {})}
    return action.options


def _success() -> Status:
    return Status(kind="Status", api_version="v1", status="Success")
