"""Copies every ConfigMap that has the label ``replicate`` into all other namespaces.

``clientgo apiserver -- python examples/replicate_configmaps.py`` runs it on an API server of its
own, without that on the cluster of your kubeconfig.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.meta import NotFoundError, ObjectMeta, ObjectName
from clientgo.util.wait import setup_signal_handler

LABEL, SOURCE = "replicate", "example.com/replicated-from"


def run() -> None:
    with Client() as client:
        loop = ControlLoop(client, "replicator")
        maps = loop.watch(ConfigMap, lambda obj: keys_of(obj))
        namespaces = loop.watch(Namespace, lambda _: sources())

        def sources() -> Iterable[ObjectName]:
            """A namespace has changed, so every original may lack a copy."""
            return [ObjectName.of(obj) for obj in maps.list() if LABEL in obj.metadata.labels]

        def sync(name: ObjectName) -> None:
            try:
                original = maps.namespace(name.namespace).get(name.name)
            except NotFoundError:
                original = None
            if original is not None and LABEL not in original.metadata.labels:
                original = None
            for namespace in namespaces.list():
                if namespace.metadata.name != name.namespace:
                    copy_into(namespace, name, original)

        def copy_into(namespace: Namespace, name: ObjectName, original: ConfigMap | None) -> None:
            place = client.resource(ConfigMap).namespace(namespace.metadata.name)
            try:
                present = maps.namespace(namespace.metadata.name).get(name.name)
            except NotFoundError:
                present = None
            if present and present.metadata.annotations.get(SOURCE) != str(name):
                return  # it is not a copy
            if original is None:
                if present:
                    with suppress(NotFoundError):  # the cache may be behind
                        place.delete(name.name)
                    print(f"deleted {namespace.metadata.name}/{name.name}", flush=True)
            elif not namespace.metadata.deletion_timestamp and (
                present is None or present.data != original.data
            ):
                metadata = ObjectMeta(name=name.name, annotations={SOURCE: str(name)})
                copied = ConfigMap(metadata=metadata, data=original.data)
                place.apply(copied, field_manager="replicator")
                print(f"copied {name} to {namespace.metadata.name}", flush=True)

        loop.run(sync, setup_signal_handler())


def keys_of(obj: ConfigMap) -> Iterable[ObjectName]:
    """The original that a ConfigMap is, or was copied from."""
    source = obj.metadata.annotations.get(SOURCE)
    if source:
        yield ObjectName.parse(source)
    else:
        yield ObjectName.of(obj)


if __name__ == "__main__":
    run()
