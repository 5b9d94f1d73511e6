"""The buttons for the objects of a user's controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clientgo.client import ResourceClient
from clientgo.tools.study.actions.action import CHANGE, Action, Plan, StudyCluster
from clientgo.tools.study.actions.changes import edits_of, name_of, objects_of, touch
from clientgo.tools.study.actions.faults import common_actions


class ObjectActions:
    """Changes of the first of the user's objects, whatever its kind."""

    def __init__(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        self._manifest = manifests[0]
        self._name = name_of(self._manifest)
        self._shown = f"{self._manifest['kind']} {self._name}"

    def all(self) -> list[Action]:
        what = self._shown
        return [
            Action(
                "create",
                CHANGE,
                "Create it again",
                f"Creates {what} from its manifest.",
                self.create,
            ),
            Action("edit", CHANGE, "Edit it", f"Changes an annotation of {what}.", self.edit),
            Action(
                "ten-edits",
                CHANGE,
                "Ten edits at once",
                f"Ten updates of {what} whose events arrive in one burst. Count the syncs.",
                self.ten_edits,
            ),
            Action("delete", CHANGE, "Delete it", f"Deletes {what}.", self.delete),
            *common_actions(),
        ]

    def create(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you create {self._shown}", lambda: objects.create(self._manifest))

    def edit(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you edit {self._shown}", lambda: touch(objects, self._name))

    def ten_edits(self, cluster: StudyCluster, _: str) -> Plan:
        return edits_of(cluster, self._manifest)

    def delete(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you delete {self._shown}", lambda: objects.delete(self._name))

    def _objects(self, cluster: StudyCluster) -> ResourceClient[Any]:
        return objects_of(cluster.client, self._manifest)
