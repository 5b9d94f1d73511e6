"""Informer factories: every part of a program that watches a kind shares one informer.

::

    SharedInformerFactory ──► informer_for(Foo) ──► SharedIndexInformer[Foo] ──► handlers
    (one client, one set                └─ one list and watch,
     of options)            lister_for(Foo) ──► Lister[Foo]   one cache

``SharedInformerFactory`` is for declared types, ``DynamicInformerFactory`` for any resource as
unstructured objects, ``MetadataInformerFactory`` for names, labels and owners alone.
"""

from clientgo.informers.dynamic_informer_factory import (
    DynamicInformerFactory,
    MetadataInformerFactory,
)
from clientgo.informers.health import UnhealthyError, check_alive, check_synced
from clientgo.informers.informer_factory import InformerFactory, ResourceInformer
from clientgo.informers.informer_handle import InformerHandle
from clientgo.informers.shared_informer_factory import (
    SharedInformerFactory,
    UnknownResourceError,
)

__all__ = [
    "SharedInformerFactory",
    "DynamicInformerFactory",
    "MetadataInformerFactory",
    "InformerFactory",
    "ResourceInformer",
    "InformerHandle",
    "UnknownResourceError",
    # health
    "UnhealthyError",
    "check_alive",
    "check_synced",
]
