"""Objects of an API server: reading, writing, listing, watching.

::

    Client ──► client.resource(Foo) ──► ResourceClient[Foo] ──► ResourceListWatch ──► a reflector
                                          get, create, patch, ...

::

    from clientgo.client import Client

    with Client() as client:
        foos = client.resource(Foo).namespace("default")
        foo = foos.get("example-foo")
"""

from clientgo.client.client import Client
from clientgo.client.list_watch import ResourceListWatch, Tweak, selecting
from clientgo.client.patch_kind import PatchKind
from clientgo.client.resource_client import ResourceClient

__all__ = [
    "Client",
    "ResourceClient",
    "PatchKind",
    "ResourceListWatch",
    "Tweak",
    "selecting",
]
