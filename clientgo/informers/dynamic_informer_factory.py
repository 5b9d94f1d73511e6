"""Informers of kinds that are not declared: whole objects, or their metadata only.

Any resource gets an informer; one that the server does not serve keeps trying to list, and logs
it. Two versions of a resource are two informers. Source: client-go `dynamic/dynamicinformer` and
`metadata/metadatainformer`.
"""

from __future__ import annotations

from clientgo.cache import Lister, ListerWatcher, SharedIndexInformer
from clientgo.client import ResourceListWatch
from clientgo.informers.informer_factory import InformerFactory, ResourceInformer
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
        served = _api_resource(resource)

        def source(namespace: str) -> ListerWatcher[Unstructured]:
            return ResourceListWatch(self._client.resource(served), namespace, self._tweak)

        informer: SharedIndexInformer[Unstructured] = self._informer(
            served.gvr, served, Unstructured, source, name=str(served.gvr)
        )
        return ResourceInformer(informer, Lister(informer.indexer, served))


class MetadataInformerFactory(InformerFactory[GroupVersionResource]):
    """One shared informer of names, labels and owners for each resource, at a fraction of the
    memory that the objects would take.

    Options are those of :class:`InformerFactory`.
    """

    def for_resource(
        self, resource: APIResource | GroupVersionResource
    ) -> ResourceInformer[PartialObjectMetadata]:
        """Return informer and lister; see :meth:`DynamicInformerFactory.for_resource`."""
        served = _api_resource(resource)

        def source(namespace: str) -> ListerWatcher[PartialObjectMetadata]:
            return ResourceListWatch(self._client.metadata(served), namespace, self._tweak)

        informer: SharedIndexInformer[PartialObjectMetadata] = self._informer(
            served.gvr, served, PartialObjectMetadata, source, name=f"{served.gvr} metadata"
        )
        return ResourceInformer(informer, Lister(informer.indexer, served))


def _api_resource(resource: APIResource | GroupVersionResource) -> APIResource:
    if isinstance(resource, APIResource):
        return resource
    group, version, plural = resource
    return APIResource(group=group, version=version, plural=plural, kind="")
