"""Objects of an API server: reading, writing, listing, watching.

::

    Client ──► client.resource(Foo) ──► ResourceClient[Foo] ──► ResourceListWatch ──► a reflector
       │                                  get, create, patch, ...
       ├─────► client.metadata(Foo) ──► the same, headers only
       └─────► client.discovery, client.mapper ──► what is served, and under which name

::

    from clientgo.client import Client

    with Client() as client:
        foos = client.resource(Foo).namespace("default")
        foo = foos.get("example-foo")
"""

from clientgo.client.cached_discovery import CachedDiscovery, EmptyDiscoveryError
from clientgo.client.client import Client
from clientgo.client.discovery import DiscoveryClient, ServerVersion
from clientgo.client.discovery_documents import (
    APIGroup,
    Discovered,
    GroupDiscoveryError,
    ServedResource,
    StaleGroupVersionError,
)
from clientgo.client.list_watch import ResourceListWatch, Tweak, selecting
from clientgo.client.patch_kind import PatchKind
from clientgo.client.resource_client import ResourceClient
from clientgo.client.rest_mapper import DiscoveringRESTMapper, NoMatchError, RESTMapper

__all__ = [
    "Client",
    "ResourceClient",
    "PatchKind",
    "ResourceListWatch",
    "Tweak",
    "selecting",
    # what the server serves
    "DiscoveryClient",
    "CachedDiscovery",
    "Discovered",
    "APIGroup",
    "ServedResource",
    "ServerVersion",
    "GroupDiscoveryError",
    "StaleGroupVersionError",
    "EmptyDiscoveryError",
    "RESTMapper",
    "DiscoveringRESTMapper",
    "NoMatchError",
]
