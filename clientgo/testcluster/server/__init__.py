"""The embedded API server: the Kubernetes HTTP API from memory.

::

    with EmbeddedAPIServer() as server:
        server.url, server.kubeconfig

The folders, each of which imports only from those below it::

    cli, server, application, cluster        a process, a server, its assembly
      faults                                 misbehaviour on command
      requests      discovery  controllers   from a path to a verb; documents; what follows a write
      kinds                                  the built-in kinds
      admission     crds                     who may write what; definitions and what they define
      objects       http                     an object on its way to storage; messages, media types
      auth                                   who a client is, and what it may do
      resources                              what is served: resources, strategies, errors
      storage                                memory, history, journal

A PATCH goes through ``http``, ``requests``, ``objects``, ``admission``, ``storage`` and back
through ``requests`` to ``http``.

Importing the package is cheap; the server is loaded when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clientgo.util.extras import needing_extra

if TYPE_CHECKING:
    from clientgo.testcluster.server.application import Application
    from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
    from clientgo.testcluster.server.auth.users import User
    from clientgo.testcluster.server.cluster import Cluster
    from clientgo.testcluster.server.containers.programs import (
        PodConnection,
        PodProcess,
        PodPrograms,
    )
    from clientgo.testcluster.server.requests.request_info import RequestInfo, parse_path
    from clientgo.testcluster.server.server import EmbeddedAPIServer

__all__ = [
    "EmbeddedAPIServer",
    "Application",
    "Cluster",
    "RequestInfo",
    "parse_path",
    "Attributes",
    "User",
    "PodPrograms",
    "PodProcess",
    "PodConnection",
]

_MODULES = {
    "EmbeddedAPIServer": "server",
    "Application": "application",
    "Cluster": "cluster",
    "RequestInfo": "requests.request_info",
    "parse_path": "requests.request_info",
    "Attributes": "auth.authorization.authorizer",
    "User": "auth.users",
    "PodPrograms": "containers.programs",
    "PodProcess": "containers.programs",
    "PodConnection": "containers.programs",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needing_extra("apiserver", "the embedded API server"):
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
