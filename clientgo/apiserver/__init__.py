"""The embedded API server: the Kubernetes HTTP API from memory.

::

    HTTP ──► Application ──► verbs ──► writes ──► Storage ──► Collection: objects, log
               discovery                │            │                       │
                                   admission     observers                WatchStream ──► HTTP
                                                 (garbage collector,
                                                  namespaces, CRDs)

    with EmbeddedAPIServer() as server:
        server.url, server.kubeconfig

Importing the room costs nothing; the server is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clientgo.apiserver.server import EmbeddedAPIServer

__all__ = ["EmbeddedAPIServer"]


def __getattr__(name: str) -> Any:
    if name == "EmbeddedAPIServer":
        from clientgo.apiserver.server import EmbeddedAPIServer

        return EmbeddedAPIServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
