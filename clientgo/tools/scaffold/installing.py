"""Applying manifests to a cluster, and watching for the result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client, NoMatchError
from clientgo.codegen.crd import definitions_of
from clientgo.informers import DynamicInformerFactory
from clientgo.meta import APIResource, GroupVersion, NotFoundError, Unstructured, resource_of
from clientgo.operator.errors import OperatorError
from clientgo.tools.scaffold.project_code import kinds_in_all

FIELD_MANAGER: Final = "clientgo-operator"
SERVED_TIMEOUT: Final = 30.0
"""Seconds that a cluster may take to serve a new definition."""
_DEFINITIONS: Final = resource_of(CustomResourceDefinition)


class NotInTimeError(OperatorError):
    """A cluster did not reach the expected state in time."""


class ClusterView:
    """Watches the objects of some resources. A context manager."""

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
        """Return the objects of one of the resources."""
        return self._informers[resource].lister.list()

    def wait_until(self, seen: Callable[[], bool], timeout: float) -> bool:
        """Block until ``seen()``, which is called after each change, or for ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(seen, timeout)

    def __enter__(self) -> Self:
        self._factory.start(self._stop)
        self._factory.wait_for_cache_sync(self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._factory.shutdown()

    def _notice(self, *_: object) -> None:
        with self._changed:
            self._changed.notify_all()


def apply(client: Client, manifest: Mapping[str, Any]) -> Unstructured:
    """Apply a manifest server-side, with force. Raises what a client raises."""
    objects = client.resource(resource_of_manifest(client, manifest))
    namespaced = objects.namespace(manifest["metadata"].get("namespace", ""))
    return namespaced.apply(manifest, field_manager=FIELD_MANAGER, force=True)


def delete(client: Client, manifest: Mapping[str, Any]) -> bool:
    """Delete the object of a manifest; return False if it is gone already."""
    try:
        objects = client.resource(resource_of_manifest(client, manifest))
        namespaced = objects.namespace(manifest["metadata"].get("namespace", ""))
        namespaced.delete(manifest["metadata"]["name"])
    except (NotFoundError, NoMatchError):
        return False
    return True


def install_definitions(
    client: Client, definitions: Iterable[Mapping[str, Any]], *, timeout: float = SERVED_TIMEOUT
) -> None:
    """Apply definitions; block until their kinds are served.

    Raises :class:`NotInTimeError` with those that are not served after ``timeout`` seconds.
    """
    names = [apply(client, definition).metadata.name for definition in definitions]
    with ClusterView(client, _DEFINITIONS) as view:

        def missing() -> list[str]:
            served = {obj.metadata.name for obj in view.objects(_DEFINITIONS) if _is_served(obj)}
            return [name for name in names if name not in served]

        if not view.wait_until(lambda: not missing(), timeout):
            raise NotInTimeError(
                f"not served after {timeout:g} s: {', '.join(missing())}; see the conditions of "
                "these CustomResourceDefinitions"
            )
    client.mapper.reset()  # its discovery is older than these kinds


def install_kinds(client: Client, *modules: str) -> None:
    """Install the kinds that modules or packages declare, for tests.

    Raises like :func:`install_definitions`, and ``ImportError`` and ``NoKindsError``.
    """
    install_definitions(client, definitions_of(kinds_in_all(modules)))


def resource_of_manifest(client: Client, manifest: Mapping[str, Any]) -> APIResource:
    """Return the resource of a manifest's kind. Raises :class:`~clientgo.client.NoMatchError`."""
    version = GroupVersion.parse(manifest["apiVersion"])
    return client.mapper.for_kind(version.group, manifest["kind"], version.version)


def _is_served(definition: Unstructured) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
