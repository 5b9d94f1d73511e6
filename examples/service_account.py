"""A program as its service account: what it may do, what it lacks, and how its token ends.

``python examples/service_account.py`` runs on an API server of its own, with RBAC.
"""

from __future__ import annotations

from typing import Any

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Pod, ServiceAccount
from clientgo.meta import ForbiddenError, NotFoundError, UnauthorizedError
from clientgo.testing.rbac_server import RBACServer

GROUP = "rbac.authorization.k8s.io"


def role_of_robot(*rules: dict[str, Any]) -> list[dict[str, Any]]:
    """A Role, bound to the service account ``robot`` of the namespace ``demo``."""
    named = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "robot", "namespace": "demo"}}
    account = {"kind": "ServiceAccount", "name": "robot", "namespace": "demo"}
    ref = {"apiGroup": GROUP, "kind": "Role", "name": "robot"}
    return [
        {**named, "kind": "Role", "rules": list(rules)},
        {**named, "kind": "RoleBinding", "roleRef": ref, "subjects": [account]},
    ]


def main() -> None:
    with RBACServer() as server:
        may_list_pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
        server.apply(*role_of_robot(may_list_pods))
        robot = server.client_of("demo", "robot")
        pods = robot.resource(Pod).namespace("demo")
        deployments = robot.resource(Deployment).namespace("demo")

        print("pods:", len(pods.list().items))
        try:
            deployments.patch("web", {"spec": {"replicas": 2}})
        except ForbiddenError as error:
            print(error.message)

        (missing,) = server.missing()
        print("would need:", missing)
        server.apply(*role_of_robot(may_list_pods, missing.policy_rule()))
        try:
            deployments.patch("web", {"spec": {"replicas": 2}})
        except NotFoundError as error:
            print("with that rule:", error.message)

        server.client.resource(ServiceAccount).namespace("demo").delete("robot")
        try:
            pods.list()
        except UnauthorizedError as error:
            print("without its account:", error.message)


if __name__ == "__main__":
    main()
