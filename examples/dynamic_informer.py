"""Watches a kind whose name it is given, and of which it knows nothing else.

Run it with any name or short name of a resource::

    clientgo apiserver --kubeconfig ./kubeconfig -- python examples/dynamic_informer.py cm

Then create, change and delete some in another terminal. Press Ctrl-C to stop it.
"""

import sys

from clientgo.client import Client
from clientgo.informers import DynamicInformerFactory
from clientgo.meta import Unstructured, object_key
from clientgo.util.wait import setup_signal_handler


def show(what: str, obj: Unstructured) -> None:
    """The header is typed; the rest is read like a mapping."""
    body = [field for field in obj if field not in ("apiVersion", "kind", "metadata")]
    version = obj.metadata.resource_version
    print(f"{what} {object_key(obj)} at {version}, which says {', '.join(body)}", flush=True)


if len(sys.argv) != 2:
    sys.exit("usage: python examples/dynamic_informer.py RESOURCE, such as cm or deployments")
stop = setup_signal_handler()
with Client() as client, DynamicInformerFactory(client) as factory:
    found = client.mapper.resource(sys.argv[1])
    informer, lister = factory.for_resource(found)
    registration = informer.add_event_handler(
        on_add=lambda obj: show("added", obj),
        on_update=lambda _, new: show("changed", new),
        on_delete=lambda obj: print(f"deleted {object_key(obj)}", flush=True),
    )
    factory.start(stop)
    factory.wait_for_cache_sync(stop)
    registration.wait_until_idle()  # so that handlers do not print in between
    print(f"{len(lister.list())} {found.plural} of {found.api_version}", flush=True)
    stop.wait()
