"""Asking declared webhooks, without a socket."""

from __future__ import annotations

from typing import Any

from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.observe.serving import Request, Response
from clientgo.operator.webhooks import Webhooks
from clientgo.operator.webhooks.endpoint import CallLimiter
from clientgo.util.clock import REAL_CLOCK, Clock
from tests.operator.webhooks.reviews import Verdict, body, verdict_in


def call_of(
    content: bytes,
    *,
    content_type: str = "application/json",
    timeout: str = "",
    is_too_large: bool = False,
) -> Request:
    """A call as an API server makes it; ``timeout`` is what it says in the URL."""
    return Request(
        "/",
        query={"timeout": [timeout]} if timeout else {},
        headers={"content-type": content_type},
        method="POST",
        body=content,
        is_too_large=is_too_large,
    )


class Asked:
    """The endpoints of some handlers."""

    def __init__(
        self,
        *handlers: Any,
        path: str | None = None,
        metrics: MetricsProvider = NO_METRICS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        webhooks = Webhooks()
        webhooks.register(*handlers, path=path)
        self._endpoints = webhooks.endpoints(CallLimiter(clock=clock), metrics)

    def ask(self, review: dict[str, Any], *, path: str | None = None, **call: Any) -> Verdict:
        """Send a review to the only path, or to this one."""
        answer = self.call(body(review), path=path, **call)
        assert answer.status == 200
        return verdict_in(answer.body)

    def call(self, content: bytes, *, path: str | None = None, **call: Any) -> Response:
        endpoint = self._endpoints[path or next(iter(self._endpoints))]
        return endpoint(call_of(content, **call))
