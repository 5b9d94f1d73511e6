"""Putting manifests into a cluster, and waiting for what follows.

Promises that nothing polls: what is waited for is seen by a watch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client, NoMatchError
from clientgo.codegen.crd import definitions_of
from clientgo.informers import DynamicInformerFactory
from clientgo.meta import APIResource, GroupVersion, NotFoundError, Unstructured, resource_of
from clientgo.operator.errors import OperatorError
from clientgo.scaffold.declared_operator import kinds_in_all

FIELD_MANAGER: Final = "clientgo-operator"
PATIENCE: Final = 30.0
"""Seconds that a cluster may take to serve a new definition."""
_DEFINITIONS: Final = resource_of(CustomResourceDefinition)


class NotInTimeError(OperatorError):
    """Something that should have followed did not, in the time that it was given."""


class ClusterView:
    """Sees the objects of some resources change. A context manager."""

    def __init__(self, client: Client, *resources: APIResource) -> None:
        self._factory = DynamicInformerFactory(client)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._informers = {resource: self._factory.for_resource(resource) for resource in resources}
        for informer, _ in self._informers.values():
            informer.add_event_handler(
                on_add=self._notice, on_update=self._notice, on_delete=self._notice
            )

    def objects(self, resource: APIResource) -> list[Unstructured]:
        """What there is of one of the resources."""
        return self._informers[resource].lister.list()

    def wait_until(self, seen: Callable[[], bool], timeout: float) -> bool:
        """Block until ``seen()``, which is asked after every change, or for so many seconds."""
        with self._changed:
            return self._changed.wait_for(seen, timeout)

    def __enter__(self) -> Self:
        self._factory.start(self._stop)
        self._factory.wait_for_cache_sync(self._stop)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._factory.shutdown()

    def _notice(self, *_: object) -> None:
        with self._changed:
            self._changed.notify_all()


def apply(client: Client, manifest: Mapping[str, Any]) -> Unstructured:
    """Make the cluster so, as far as the manifest says. Raises what a client raises."""
    objects = client.resource(resource_of_manifest(client, manifest))
    namespaced = objects.namespace(manifest["metadata"].get("namespace", ""))
    return namespaced.apply(manifest, field_manager=FIELD_MANAGER, force=True)


def delete(client: Client, manifest: Mapping[str, Any]) -> bool:
    """Delete what the manifest names; return False if it is gone already."""
    try:
        objects = client.resource(resource_of_manifest(client, manifest))
        namespaced = objects.namespace(manifest["metadata"].get("namespace", ""))
        namespaced.delete(manifest["metadata"]["name"])
    except (NotFoundError, NoMatchError):
        return False
    return True


def install_definitions(
    client: Client, definitions: Iterable[Mapping[str, Any]], *, patience: float = PATIENCE
) -> None:
    """Apply definitions; blocks until their kinds are served.

    Raises :class:`NotInTimeError` after so many seconds of ``patience``, naming what is missing.
    """
    names = [apply(client, definition).metadata.name for definition in definitions]
    with ClusterView(client, _DEFINITIONS) as view:

        def missing() -> list[str]:
            there = {obj.metadata.name for obj in view.objects(_DEFINITIONS) if _is_served(obj)}
            return [name for name in names if name not in there]

        if not view.wait_until(lambda: not missing(), patience):
            raise NotInTimeError(
                f"not served after {patience:g} s: {', '.join(missing())}; see the conditions of "
                "these CustomResourceDefinitions"
            )
    client.mapper.reset()  # it does not know these kinds yet


def install_kinds(client: Client, *modules: str) -> None:
    """Install the kinds that modules or packages declare, as tests need them.

    Raises what :func:`install_definitions` does, ``ImportError`` and ``NoKindsError``.
    """
    install_definitions(client, definitions_of(kinds_in_all(modules)))


def resource_of_manifest(client: Client, manifest: Mapping[str, Any]) -> APIResource:
    """Where a manifest's kind is served. Raises :class:`~clientgo.client.NoMatchError`."""
    version = GroupVersion.parse(manifest["apiVersion"])
    return client.mapper.for_kind(version.group, manifest["kind"], version.version)


def _is_served(definition: Unstructured) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
