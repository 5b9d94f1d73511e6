"""Asking declared webhooks, without a socket."""

from __future__ import annotations

from typing import Any

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.webhooks import Webhooks
from clientgo.operator.webhooks.call_limiter import CallLimiter
from clientgo.operator.webhooks.endpoint import Answer, Call
from tests.operator.webhooks.reviews import Verdict, body, verdict_in


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

    def call(self, content: bytes, *, path: str | None = None, **call: Any) -> Answer:
        endpoint = self._endpoints[path or next(iter(self._endpoints))]
        return endpoint.answer(Call(content, **call))
