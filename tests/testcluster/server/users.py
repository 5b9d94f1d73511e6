"""Requests to a server with RBAC, as several users."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterable
from typing import Any

import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import Answer

RBAC_GROUP = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC_GROUP}/namespaces/default/roles"
ROLE_BINDINGS = f"{RBAC_GROUP}/namespaces/default/rolebindings"
CLUSTER_ROLES = f"{RBAC_GROUP}/clusterroles"
CLUSTER_ROLE_BINDINGS = f"{RBAC_GROUP}/clusterrolebindings"
PODS = "/api/v1/namespaces/default/pods"


class Users:
    """Sends requests with the administrator's token, as another user, or with other credentials."""

    def __init__(self, server: EmbeddedAPIServer) -> None:
        self.server = server
        config = server.kubeconfig_data
        cluster = config["clusters"][0]["cluster"]
        self.authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.token: str = config["users"][0]["user"]["token"]
        context = ssl.create_default_context(cadata=self.authority)
        self._pool = urllib3.PoolManager(ssl_context=context)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "",
        groups: Iterable[str] = (),
        token: str | None = "",
        headers: Iterable[tuple[str, str]] = (),
        content_type: str = "application/json",
    ) -> Answer:
        """Send a request; without a user or token, as the administrator."""
        sent = urllib3.HTTPHeaderDict(headers)
        if body is not None:
            sent["Content-Type"] = content_type
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        if user:
            sent["Impersonate-User"] = user
        for group in groups:
            sent.add("Impersonate-Group", group)
        answer = self._pool.request(
            method,
            self.server.url + path,
            body=None if body is None else json.dumps(body),
            headers=sent,
            retries=False,
            timeout=30,
        )
        is_json = "json" in answer.headers.get("content-type", "")
        return Answer(answer.status, json.loads(answer.data) if is_json else answer.data)

    def create(self, path: str, body: Any) -> Any:
        """Create something as the administrator, which must be accepted."""
        answer = self.call("POST", path, body)
        assert answer.status == 201, answer
        return answer.body

    def role(self, name: str, *rules: dict[str, Any], path: str = ROLES) -> None:
        self.create(path, {"metadata": {"name": name}, "rules": list(rules)})

    def bind(
        self, name: str, *subjects: dict[str, str], kind: str = "Role", path: str = ROLE_BINDINGS
    ) -> None:
        """Bind a role to subjects; the binding has the name of the role."""
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        self.create(path, {"metadata": {"name": name}, "roleRef": ref, "subjects": list(subjects)})

    def grant(self, name: str, *rules: dict[str, Any], user: str) -> None:
        """Let a user do something in the namespace ``default``."""
        self.role(name, *rules)
        self.bind(name, {"kind": "User", "name": user})

    def grant_everywhere(self, name: str, *rules: dict[str, Any], user: str) -> None:
        """Let a user do something in every namespace, and outside of namespaces."""
        self.role(name, *rules, path=CLUSTER_ROLES)
        subject = {"kind": "User", "name": user}
        self.bind(name, subject, kind="ClusterRole", path=CLUSTER_ROLE_BINDINGS)

    def may(self, user: str, method: str, path: str, body: Any = None) -> bool:
        """Return False if a request of a user is forbidden."""
        return self.call(method, path, body, user=user).status != 403


def rule(
    verbs: str, resources: str, group: str = "", names: Iterable[str] = ()
) -> dict[str, list[str]]:
    made = {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group]}
    if names:
        made["resourceNames"] = list(names)
    return made
