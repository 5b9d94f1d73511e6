"""The status of ValidatingAdmissionPolicies: what does not fit the kinds that they match.

Promises: soon after a policy was created, or its spec has changed, ``status.typeChecking`` shows
the warnings, and ``status.observedGeneration`` for which spec.

Upstream: ``pkg/controller/validatingadmissionpolicystatus``.
"""

from __future__ import annotations

import functools

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.storage.storage import Change, Collection

_POLICIES = ("admissionregistration.k8s.io", "validatingadmissionpolicies")


class PolicyTypeController:
    """Checks the types of policies."""

    def __init__(self, state: State, work: BackgroundWork) -> None:
        self._state = state
        self._work = work
        self._collection = state.storage.collection(_POLICIES)
        state.storage.observe(self._observe, _POLICIES)

    def _observe(self, _: Collection, change: Change) -> None:
        if change.type is not EventType.DELETED:
            self._work.start(self._check(change.current.key))

    async def _check(self, name: str) -> None:
        # loads CEL
        from clientgo.testcluster.server.admission.policies.type_checking import (
            expression_warnings,
            kinds_of,
        )

        stored = self._collection.get(name)
        if stored is None:
            return
        obj = stored.decode()
        status, generation = obj.get("status") or {}, obj["metadata"].get("generation", 0)
        if generation <= status.get("observedGeneration", 0):
            return
        storage, spec = self._state.storage, obj["spec"]
        check = functools.partial(
            expression_warnings, spec, kinds_of(spec, storage, self._state.registry)
        )
        warnings = await self._state.large_work.on(len(stored.raw)).run(check)
        if self._collection.get(name) is not stored:
            return  # the change is checked
        checked = {"expressionWarnings": warnings} if warnings else {}
        obj["status"] = status | {"observedGeneration": generation, "typeChecking": checked}
        storage.put(self._collection, name, obj, stored.fields)
