"""The server of a round, and how its clients reach it."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import ConfigMap, Namespace, Pod
from clientgo.client import Client
from clientgo.meta import AlreadyExistsError, Resource
from clientgo.rest import RestConfig, rest_config_of
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.definitions import is_established
from sample_controller.demo import artifact
from sample_controller.types import Foo
from tests.soak.findings import Findings
from tests.tcp_proxy import TCPProxy

CLIENTS = "soak"
"""How the user agents of the clients under test begin; faults strike only them."""

NAMESPACES = ("soak-a", "soak-b")
KINDS: tuple[type[Resource], ...] = (ConfigMap, Foo, Pod)
GROUPS = ("red", "green", "blue")
SILENCE = 1.0
"""How long a watch may be silent before a reflector checks the server; shorter than usual."""
FINALIZER = "soak.example.com/wait"
DEFINITION = "foos.samplecontroller.k8s.io"


class World:
    """A server with namespaces and the definition of Foo, reached directly and through a proxy."""

    def __init__(self, rng: random.Random, findings: Findings, data_dir: str | None) -> None:
        self.rng = rng
        self.findings = findings
        self.server = EmbeddedAPIServer(data_dir=data_dir).start()
        self.proxy = TCPProxy(self.server.port)
        self.proxy.mend()
        admin = replace(rest_config_of(self.server.kubeconfig), user_agent="admin", qps=-1.0)
        self.admin = Client(admin)
        self.clients: list[Client] = []
        self.time_goes_back = False
        """Lists may have been stale: a client may see an older state of an object."""
        self.state_lost_at = float("-inf")
        self.ensure()

    @property
    def has_lost_state(self) -> bool:
        """Return True if an empty server has taken the place of the first one."""
        return self.state_lost_at > float("-inf")

    def lost_text(self) -> str:
        """Return when the server lost its state, for a report; empty if it has not."""
        ago = time.monotonic() - self.state_lost_at
        return f"; the server lost its state {ago:.1f} s ago" if self.has_lost_state else ""

    def config(self, name: str) -> RestConfig:
        """Return the configuration of a client under test."""
        return RestConfig(
            server=self.proxy.url,
            user_agent=f"{CLIENTS}-{name}",
            qps=-1.0,
            connect_timeout=2.0,
            read_timeout=4.0,
            watch_idle_timeout=self.rng.choice((None, 3.0)),
        )

    def client(self, name: str) -> Client:
        """Return a client under test; faults strike it."""
        client = Client(self.config(name))
        self.clients.append(client)
        return client

    def close(self) -> None:
        """Close all connections, and stop the server."""
        for client in (self.admin, *self.clients):
            client.close()
        self.proxy.cut()
        self.server.stop()

    def ensure(self) -> None:
        """Create the namespaces and the definition again if they are missing.

        What is being deleted waits for the finalizers of objects, which clients can't remove while
        their requests fail: after some seconds they are removed here.
        """
        began = time.monotonic()
        while missing := self._missing():
            waited = time.monotonic() - began
            if waited > 60:
                raise TimeoutError(f"the server does not come back: {missing}")
            if waited > 5:
                self._finish_all()
            time.sleep(0.05)

    def _missing(self) -> str:
        """Create what is missing; return what is not there yet."""
        try:
            for name in NAMESPACES:
                self._create(Namespace, {"metadata": {"name": name}})
            self._create(CustomResourceDefinition, artifact("crd-status-subresource.yaml"))
            namespaces = self.admin.resource(Namespace).list().items
            foos = self.admin.resource(CustomResourceDefinition).get(DEFINITION)
        except Exception as error:
            return repr(error)
        active = {n.metadata.name for n in namespaces if not n.metadata.deletion_timestamp}
        if missing := set(NAMESPACES) - active:
            return f"namespaces {missing}"
        if foos.metadata.deletion_timestamp or not is_established(foos):
            return f"the definition: {foos.status}"
        return ""

    def _finish_all(self) -> None:
        for kind in KINDS:
            try:
                for key, obj in self.state(kind).items():
                    if obj.metadata.deletion_timestamp:
                        self._finish(kind, key)
            except Exception as error:
                self.findings.count(f"objects not finished: {type(error).__name__}")

    def _create(self, kind: type[Resource], obj: dict[str, Any]) -> None:
        try:
            self.admin.resource(kind).create(obj)
        except AlreadyExistsError:
            return

    def release(self) -> None:
        """Remove the finalizers that writers have left; a definition waits for its objects."""
        for kind in KINDS:
            for key, obj in self.state(kind).items():
                if FINALIZER in (obj.metadata.finalizers or ()):
                    self._finish(kind, key)

    def _finish(self, kind: type[Resource], key: str) -> None:
        namespace, name = key.split("/")
        objects = self.admin.resource(kind).namespace(namespace)
        objects.patch(name, {"metadata": {"finalizers": None}})

    def state(self, kind: type[Resource]) -> dict[str, Any]:
        """Return the objects of a kind on the server, by key."""
        items = self.admin.resource(kind).list().items
        return {f"{o.metadata.namespace}/{o.metadata.name}": o for o in items}
