"""The page that Prometheus reads. Needs ``prometheus-client`` (the extra ``metrics``)."""

from __future__ import annotations

from clientgo.observe.serving.messages import Handler, Request, Response
from clientgo.util.extras import needing_extra

with needing_extra("metrics", "clientgo.observe.serving.metrics"):
    from prometheus_client import REGISTRY, CollectorRegistry
    from prometheus_client.exposition import choose_encoder


def metrics_handler(registry: CollectorRegistry = REGISTRY) -> Handler:
    """Return a handler that shows ``registry``, in the format that the request prefers.

    ::

        set_default_provider(PrometheusProvider())
        Server(":8080", {"/metrics": metrics_handler()})
    """

    def respond(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(200, encode(registry), content_type)

    return respond
