"""The client of one API server: the place where resource clients come from.

Promises that everything made by one :class:`Client` shares its connections and, when a rate is
configured, one rate limiter. Upstream: client-go ``kubernetes`` Clientset, ``dynamic``,
``metadata``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar, overload

from clientgo.client.cached_discovery import CachedDiscovery
from clientgo.client.discovery import DiscoveryClient
from clientgo.client.kubernetes_models import (
    ModelCodec,
    resource_of_model,
    resource_of_object,
)
from clientgo.client.metadata_codec import ACCEPT_LIST, ACCEPT_ONE, MetadataCodec
from clientgo.client.object_writes import ObjectWrites
from clientgo.client.resource_client import ResourceClient
from clientgo.client.rest_mapper import DiscoveringRESTMapper
from clientgo.meta import (
    APIResource,
    Codec,
    GroupVersion,
    KubernetesModel,
    PartialObjectMetadata,
    Resource,
    Unstructured,
    is_model_class,
    metadata_of,
    resource_of,
)
from clientgo.rest import (
    HTTPTransport,
    RestClient,
    RestConfig,
    Transport,
    api_path,
    rest_config_of,
    shared_limiter_of,
    traced_transport,
)
from clientgo.util.copies import uncopyable
from clientgo.util.process import renew_in_child

R = TypeVar("R", bound=Resource)
M = TypeVar("M", bound=KubernetesModel)


@uncopyable("it has connections to a server; make one in each process")
class Client(ObjectWrites):
    """Everything that one API server offers; thread-safe, a context manager.

    ``config`` is what :func:`clientgo.rest.rest_config_of` takes: a ``RestConfig``, a URL, the path
    of a kubeconfig, a ``Configuration`` or ``ApiClient`` of the ``kubernetes`` package, or nothing
    for the default kubeconfig or the pod's service account. ``field_manager`` names this program
    in what it writes. A ``transport`` carries the requests in place of connections to the server.

    :meth:`create`, :meth:`update`, :meth:`patch`, :meth:`apply` and :meth:`delete` take objects of
    any kind. ``discovery`` knows what the server serves, ``mapper`` finds the resource that a name
    or kind means.

    All requests share the rate limiter that ``qps`` and ``burst`` or ``limiter`` configure. There
    is none by default; in client-go each group and version has one of 5 requests a second. Raises
    :class:`~clientgo.rest.ConfigError`.
    """

    def __init__(
        self, config: Any = None, *, field_manager: str = "", transport: Transport | None = None
    ) -> None:
        self.config: RestConfig = rest_config_of(config)
        self.field_manager = field_manager
        self._transport = traced_transport(
            transport if transport is not None else HTTPTransport(self.config)
        )
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._rests: dict[GroupVersion, RestClient] = {}
        self._resources: dict[type, ResourceClient[Any]] = {}
        self._limiter = shared_limiter_of(self.config)
        self.discovery = CachedDiscovery(DiscoveryClient(self.config, transport=self._transport))
        self.mapper = DiscoveringRESTMapper(self.discovery)

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod; ``default`` where none is set.

        Requests do not use it by themselves: ``client.resource(Pod).namespace(client.namespace)``.
        """
        return self.config.namespace

    @overload
    def resource(self, kind: type[R]) -> ResourceClient[R]: ...

    @overload
    def resource(self, kind: APIResource) -> ResourceClient[Unstructured]: ...

    @overload
    def resource(self, kind: type[M]) -> ResourceClient[M]: ...

    def resource(self, kind: type[Any] | APIResource) -> ResourceClient[Any]:
        """The objects of one kind: typed for a declared class, unstructured for an APIResource.

        For a class of the ``kubernetes`` package they are its models; the server is asked where
        the kind is served if :mod:`clientgo.api` does not have it.
        """
        if isinstance(kind, APIResource):
            return self._resource_client(kind, Codec(Unstructured, kind))
        made = self._resources.get(kind)
        if made is not None:
            return made
        if is_model_class(kind):
            found = resource_of_model(kind, self.discovery)
            return self._resource_client(found, ModelCodec(kind, found))
        made = self._resource_client(resource_of(kind), Codec(kind))
        self._resources[kind] = made  # two threads may both make it; it does not change
        return made

    def metadata(self, kind: type[Resource] | APIResource) -> ResourceClient[PartialObjectMetadata]:
        """The headers alone of the objects of one kind, at a fraction of the memory."""
        declared = kind if isinstance(kind, APIResource) else resource_of(kind)
        return self._resource_client(
            declared, MetadataCodec(declared), accept=ACCEPT_ONE, accept_list=ACCEPT_LIST
        )

    def rest(self, group_version: GroupVersion) -> RestClient:
        """The client for requests that no resource client makes, below one group and version."""
        with self._lock:
            rest = self._rests.get(group_version)
            if rest is None:
                rest = self._rests[group_version] = RestClient(
                    self.config,
                    api_path=api_path(group_version),
                    transport=self._transport,
                    limiter=self._limiter,
                )
            return rest

    def close(self) -> None:
        """Close idle connections; requests and watches under way are not disturbed."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _client_for(self, obj: Any, namespace: str) -> ResourceClient[Any]:
        own = metadata_of(obj).namespace
        client: ResourceClient[Any]
        if isinstance(obj, Mapping):
            client = self.resource(resource_of_object(obj, self.mapper))
        else:
            client = self.resource(type(obj))
        return client.namespace(own or namespace)

    def _resource_client(
        self, resource: APIResource, codec: Codec[Any], **formats: str
    ) -> ResourceClient[Any]:
        return ResourceClient(
            self.rest(GroupVersion(resource.group, resource.version)),
            resource,
            codec,
            field_manager=self.field_manager,
            **formats,
        )
