"""Informers and listers of declared types.

Promises the informer and the lister of a type, typed. Upstream: client-go ``informers``
SharedInformerFactory, which is generated for each group; here the type itself says all that the
generated code did.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar, overload

from clientgo.cache import (
    DELTA_FIFO,
    InformerName,
    Lister,
    QueueChoice,
    SharedIndexInformer,
    Transform,
)
from clientgo.client import Client, ResourceListWatch, Tweak
from clientgo.informers.informer_factory import InformerFactory, ResourceInformer, Wanted
from clientgo.informers.informer_handle import InformerHandle
from clientgo.meta import (
    APIResource,
    GroupVersionResource,
    KubernetesModel,
    Resource,
    Scheme,
    Unstructured,
    is_model_class,
    resource_of,
    to_model,
)
from clientgo.util.copies import CopyableError

R = TypeVar("R", bound=Resource)
M = TypeVar("M", bound=KubernetesModel)


class UnknownResourceError(CopyableError, LookupError):
    """No declared type is served there."""


class SharedInformerFactory(InformerFactory[type[Resource]]):
    """One shared informer for each declared type.

    ::

        factory = SharedInformerFactory(client, default_resync=30.0)
        foos = factory.informer_for(Foo)
        foos.add_event_handler(on_add=enqueue)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        factory.lister_for(Foo).namespace("default").get("example-foo")

    ``scheme`` tells :meth:`for_resource` which type a resource has. The other options are those
    of :class:`InformerFactory`.
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        *,
        namespace: str = "",
        tweak_list_options: Tweak | None = None,
        transform: Transform | None = None,
        custom_resync: Mapping[type[Resource], float] | None = None,
        queue: QueueChoice = DELTA_FIFO,
        informer_name: InformerName | None = None,
        scheme: Scheme | None = None,
    ) -> None:
        super().__init__(
            client,
            default_resync,
            namespace=namespace,
            tweak_list_options=tweak_list_options,
            transform=transform,
            custom_resync=custom_resync,
            queue=queue,
            informer_name=informer_name,
        )
        self._scheme = scheme or Scheme()

    @overload
    def informer_for(self, kind: type[R]) -> SharedIndexInformer[R]: ...

    @overload
    def informer_for(self, kind: type[M]) -> SharedIndexInformer[M]: ...

    def informer_for(self, kind: type[Any]) -> SharedIndexInformer[Any]:
        """Return the informer of a type; ask before ``start``, or start again. Does not block.

        For a class of the ``kubernetes`` package, handlers and readers get models, each of their
        own; a transform gets the :class:`~clientgo.meta.Unstructured` that is cached. The server
        is asked where the kind is served if :mod:`clientgo.api` does not have it.

        Raises ``TypeError`` for a class that is not declared with ``@resource``.
        """
        return self._informer(kind, self._wanted(kind))

    @overload
    def acquire(self, kind: type[R]) -> InformerHandle[R]: ...

    @overload
    def acquire(self, kind: type[M]) -> InformerHandle[M]: ...

    def acquire(self, kind: type[Any]) -> InformerHandle[Any]:
        """Return a handle of the informer of a type, which ends when the last one is released.

        It has to be started, as after :meth:`informer_for`, and raises as that. An informer that
        :meth:`informer_for`, :meth:`lister_for` or :meth:`for_resource` has returned is kept until
        the factory ends. After an informer has ended a handle has a new one.
        """
        return self._handle(kind, self._wanted(kind))

    @overload
    def lister_for(self, kind: type[R]) -> Lister[R]: ...

    @overload
    def lister_for(self, kind: type[M]) -> Lister[M]: ...

    def lister_for(self, kind: type[Any]) -> Lister[Any]:
        """Return the lister of a type; creates its informer if there is none."""
        return Lister(self.informer_for(kind).indexer, self._served(kind))

    def for_resource(self, gvr: GroupVersionResource) -> ResourceInformer[Any]:
        """Return informer and lister of the type that the scheme has for a resource.

        Raises :class:`UnknownResourceError`.
        """
        kind = self._scheme.type_for_resource(gvr)
        if kind is None:
            raise UnknownResourceError(
                f"no declared type for {gvr}; give the factory a scheme that has one, or use a "
                "DynamicInformerFactory"
            )
        return ResourceInformer(self.informer_for(kind), self.lister_for(kind))

    def _wanted(self, kind: type[Any]) -> Wanted[Any]:
        served = self._served(kind)
        is_model = is_model_class(kind)
        cached: Any = served if is_model else kind

        def source(namespace: str) -> ResourceListWatch:
            return ResourceListWatch(self._client.resource(cached), namespace, self._tweak)

        return Wanted(
            served,
            Unstructured if is_model else kind,
            source,
            name=kind.__name__,
            view=partial(to_model, model=kind) if is_model else None,
        )

    def _served(self, kind: type[Any]) -> APIResource:
        if is_model_class(kind):
            return self._client.resource(kind).resource
        return resource_of(kind)
