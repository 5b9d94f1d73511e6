"""What all requests of one client share."""

from __future__ import annotations

from dataclasses import dataclass

from clientgo.rest.config.rest_config import RestConfig
from clientgo.rest.requests.request_metrics import RequestMetrics
from clientgo.rest.requests.throttling import ThrottlingLog
from clientgo.rest.server_warnings import WarningHandler, log_warning
from clientgo.rest.transport.exchange import Headers, Transport
from clientgo.util.clock import Clock
from clientgo.util.flowcontrol import RateLimiter


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParts:
    """The configuration of a client, and what its requests use together."""

    config: RestConfig
    api_path: str
    headers: Headers
    transport: Transport
    limiter: RateLimiter | None
    throttling: ThrottlingLog
    metrics: RequestMetrics

    @property
    def clock(self) -> Clock:
        return self.config.clock

    @property
    def warning_handler(self) -> WarningHandler:
        """Where warnings go that no request has a handler for."""
        return self.config.warning_handler or log_warning
