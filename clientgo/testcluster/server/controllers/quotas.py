"""The status of resource quotas: their limits, and what is used of them.

Promises: the first status is there soon after a quota. It follows each change of the spec, and of
an object that the quota counts, a deletion included. What a client writes to it stays until then.

Differs from upstream (``pkg/controller/resourcequota``), which counts again every few minutes and
after deletions: here admission counts each change, see ``admission.plugins.quotas``.
"""

from __future__ import annotations

from clientgo.testcluster.server.admission.plugins.quotas import ResourceQuotas
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.state import State

_FIRST_DELAY = 1.0
"""Seconds until a quota has its first status.

On a real cluster a controller writes it. Without one it stays empty, as in the recordings.
"""


class QuotaController:
    """Writes the status of quotas."""

    def __init__(self, state: State, work: BackgroundWork, quotas: ResourceQuotas) -> None:
        self._storage = state.storage
        self._collection = state.storage.collection(("", "resourcequotas"))
        self._work = work
        self._quotas = quotas
        quotas.follow(self._follow)

    def _follow(self, key: str) -> None:
        stored = self._collection.get(key)
        if stored is not None:
            has_status = bool(stored.decode().get("status"))
            self._work.later(0 if has_status else _FIRST_DELAY, self._write, key)

    async def _write(self, key: str) -> None:
        stored = self._collection.get(key)
        if stored is None:
            return
        obj = stored.decode()
        hard, used = obj["spec"].get("hard"), self._quotas.used(key)
        status = {"hard": hard, "used": used} if hard else {}
        if obj.get("status", {}) != status:
            obj["status"] = status
            self._storage.put(self._collection, key, obj, stored.fields)
