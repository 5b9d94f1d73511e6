"""A cluster-scoped kind on the low-level parts: each Team has a namespace of its own.

Shows a finalizer, conditions, leader election, health checks and metrics::

    clientgo apiserver --kubeconfig ./kubeconfig
    KUBECONFIG=./kubeconfig python examples/teams.py --metrics :8080 --health :8081
    kubectl --kubeconfig ./kubeconfig apply -f examples/team.yaml
"""

from __future__ import annotations

import argparse
import sys

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import Namespace
from clientgo.api.meta_v1 import Condition
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.control_loop import ControlLoop
from clientgo.leaderelection import LeadershipLostError
from clientgo.meta import (
    Model,
    NotFoundError,
    ObjectMeta,
    ObjectName,
    Resource,
    deep_copy,
    resource,
)
from clientgo.meta.markers import AGE, CustomResource, PrinterColumn
from clientgo.observe.logs import setup_logging
from clientgo.operator.status import set_condition
from clientgo.util.wait import setup_signal_handler

FINALIZER = "example.com/namespace"
TEAM = "example.com/team"


class TeamSpec(Model):
    contact: str = ""


class TeamStatus(Model):
    conditions: list[Condition] = []


READY = '.status.conditions[?(@.type=="Ready")].status'


@CustomResource(columns=(PrinterColumn("Ready", READY, type="string"), AGE))
@resource(group="example.com", version="v1", plural="teams", namespaced=False)
class Team(Resource):
    """People who share a namespace."""

    spec: TeamSpec = TeamSpec()
    status: TeamStatus = TeamStatus()


class Teams:
    """Keeps a namespace for each team, and deletes it with the team."""

    def __init__(self, client: Client, loop: ControlLoop) -> None:
        self._clients = client.resource(Team), client.resource(Namespace)
        self._teams = loop.watch(Team)
        self._namespaces = loop.watch(Namespace, team_of)

    def sync(self, key: ObjectName) -> None:
        try:
            self._sync(deep_copy(self._teams.get(key.name)))
        except NotFoundError:
            return  # deleted already: the cache may be behind

    def _sync(self, team: Team) -> None:
        ours = FINALIZER in team.metadata.finalizers
        if team.metadata.deletion_timestamp:
            if ours:
                self._clean_up(team)
        elif not ours:
            self._set_finalizers(team, [*team.metadata.finalizers, FINALIZER])
        else:
            self._report(team, self._namespace(team))

    def _namespace(self, team: Team) -> Namespace | None:
        """Return the team's namespace, which is created if it does not exist."""
        name = team.metadata.name
        try:
            return self._namespaces.get(f"team-{name}")
        except NotFoundError:
            metadata = ObjectMeta(name=f"team-{name}", labels={TEAM: name})
            self._clients[1].apply(Namespace(metadata=metadata), field_manager="teams")
            print(f"created the namespace of {name}", flush=True)
            return None

    def _report(self, team: Team, namespace: Namespace | None) -> None:
        phase = namespace.status.phase if namespace and namespace.status else ""
        if set_condition(
            team.status.conditions,
            "Ready",
            phase == "Active",
            reason="NamespaceActive" if phase == "Active" else "NamespacePending",
            message=f"the namespace team-{team.metadata.name} is {phase or 'not there yet'}",
            generation=team.metadata.generation,
        ):
            self._clients[0].update_status(team)

    def _clean_up(self, team: Team) -> None:
        try:
            namespace = self._namespaces.get(f"team-{team.metadata.name}")
        except NotFoundError:
            self._set_finalizers(team, [x for x in team.metadata.finalizers if x != FINALIZER])
            print(f"the namespace of {team.metadata.name} is gone", flush=True)
            return
        if not namespace.metadata.deletion_timestamp:
            self._clients[1].delete(namespace.metadata.name)

    def _set_finalizers(self, team: Team, finalizers: list[str]) -> None:
        team.metadata.finalizers = tuple(finalizers)
        self._clients[0].update(team)


def team_of(namespace: Namespace) -> list[ObjectName]:
    """Return the key of the team that a namespace belongs to, if it belongs to one."""
    name = namespace.metadata.labels.get(TEAM)
    return [ObjectName("", name)] if name else []


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--metrics", default="", help="an address such as :8080")
    parser.add_argument("--health", default="", help="an address such as :8081")
    options = parser.parse_args()
    setup_logging()
    stop = setup_signal_handler()
    with Client(field_manager="teams") as client:
        for definition in definitions_of([Team]):
            client.resource(CustomResourceDefinition).apply(definition)
        loop = ControlLoop(
            client, "teams", lease="default/teams", health=options.health, metrics=options.metrics
        )
        try:
            loop.run(Teams(client, loop).sync, stop)
        except LeadershipLostError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
