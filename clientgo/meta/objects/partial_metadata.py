"""Objects of which only the header was asked for.

An informer that needs names, labels and owners can watch any kind this way at a fraction of the
memory. Upstream: ``meta/v1`` PartialObjectMetadata.
"""

from __future__ import annotations

from clientgo.meta.objects.resource import Resource, resource


@resource(group="meta.k8s.io", version="v1", plural="partialobjectmetadatas")
class PartialObjectMetadata(Resource):
    """Kind and metadata; there is no body."""
