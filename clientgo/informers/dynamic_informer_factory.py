"""Informers of kinds that are not declared: whole objects, or their metadata only.

Any resource gets an informer; that of one that the server does not serve waits until it does. Two
versions of a resource are two informers. Source: client-go `dynamic/dynamicinformer` and
`metadata/metadatainformer`.
"""

from __future__ import annotations

from clientgo.cache import Lister, ListerWatcher
from clientgo.client import ResourceListWatch
from clientgo.informers.informer_factory import InformerFactory, ResourceInformer, Wanted
from clientgo.informers.informer_handle import InformerHandle
from clientgo.meta import (
    APIResource,
    GroupVersionResource,
    PartialObjectMetadata,
    Unstructured,
)


class DynamicInformerFactory(InformerFactory[GroupVersionResource]):
    """One shared informer of unstructured objects for each resource.

    Options are those of :class:`InformerFactory`.
    """

    def for_resource(
        self, resource: APIResource | GroupVersionResource
    ) -> ResourceInformer[Unstructured]:
        """Return informer and lister of a resource; does not block, and sends no request.

        Of a bare group, version and plural it is assumed that it is namespaced; this matters only
        for a factory that is limited to a namespace.
        """
        wanted = self._wanted(_api_resource(resource))
        informer = self._informer(wanted.resource.gvr, wanted)
        return ResourceInformer(informer, Lister(informer.indexer, wanted.resource))

    def acquire(self, resource: APIResource | GroupVersionResource) -> InformerHandle[Unstructured]:
        """Return a handle; see :meth:`for_resource`, and :meth:`SharedInformerFactory.acquire`."""
        wanted = self._wanted(_api_resource(resource))
        return self._handle(wanted.resource.gvr, wanted)

    def _wanted(self, served: APIResource) -> Wanted[Unstructured]:
        def source(namespace: str) -> ListerWatcher[Unstructured]:
            return ResourceListWatch(self._client.resource(served), namespace, self._tweak)

        return Wanted(served, Unstructured, source, name=str(served.gvr))


class MetadataInformerFactory(InformerFactory[GroupVersionResource]):
    """One shared informer of names, labels and owners for each resource, at a fraction of the
    memory that the objects would take.

    Options are those of :class:`InformerFactory`.
    """

    def for_resource(
        self, resource: APIResource | GroupVersionResource
    ) -> ResourceInformer[PartialObjectMetadata]:
        """Return informer and lister; see :meth:`DynamicInformerFactory.for_resource`."""
        wanted = self._wanted(_api_resource(resource))
        informer = self._informer(wanted.resource.gvr, wanted)
        return ResourceInformer(informer, Lister(informer.indexer, wanted.resource))

    def acquire(
        self, resource: APIResource | GroupVersionResource
    ) -> InformerHandle[PartialObjectMetadata]:
        """Return a handle; see :meth:`for_resource`, and :meth:`SharedInformerFactory.acquire`."""
        wanted = self._wanted(_api_resource(resource))
        return self._handle(wanted.resource.gvr, wanted)

    def _wanted(self, served: APIResource) -> Wanted[PartialObjectMetadata]:
        def source(namespace: str) -> ListerWatcher[PartialObjectMetadata]:
            return ResourceListWatch(self._client.metadata(served), namespace, self._tweak)

        return Wanted(served, PartialObjectMetadata, source, name=f"{served.gvr} metadata")


def _api_resource(resource: APIResource | GroupVersionResource) -> APIResource:
    if isinstance(resource, APIResource):
        return resource
    group, version, plural = resource
    return APIResource(group=group, version=version, plural=plural, kind="")
