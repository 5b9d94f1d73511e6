"""Counts everything in a cluster, whatever its kind, with a few hundred bytes for each object.

Run it on an API server of its own::

    clientgo apiserver -- python examples/metadata_informer.py

Garbage collectors, quotas and back-ups look at names, labels and owners alone: metadata informers
neither fetch nor keep anything else, and need no types.
"""

import sys
import threading

from clientgo.client import Client
from clientgo.informers import MetadataInformerFactory

stop = threading.Event()
with (
    Client(sys.argv[1] if len(sys.argv) > 1 else None) as client,
    MetadataInformerFactory(client) as factory,
):
    found = client.discovery.discover().supporting("list", "watch")
    listers = {resource: factory.for_resource(resource).lister for resource in found}
    factory.start(stop)
    factory.wait_for_cache_sync(stop)

    for resource, lister in listers.items():
        objects = lister.list()
        owned = sum(bool(obj.metadata.owner_references) for obj in objects)
        if objects:
            print(f"{resource.plural} of {resource.api_version}: {len(objects)}, {owned} owned")
