"""The client that a manager makes for itself.

Source: controller-runtime pkg/client/config.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from clientgo import __version__
from clientgo.client import Client
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.api_warnings import warning_once

_UNLIMITED: Final = -1.0


def client_of(cluster: Any, name: str, metrics: MetricsProvider) -> Client:
    """The client for what a manager is given: a client as it is, else one of its own.

    That one holds no request back unless the configuration asks for it, since the API server
    balances its callers better, and introduces itself as an operator. Raises
    :class:`~clientgo.rest.ConfigError`.
    """
    if isinstance(cluster, Client):
        return cluster
    given = warning_once(cluster)
    is_limited = given.qps != 0 or given.limiter is not None
    return Client(
        replace(
            given,
            qps=given.qps if is_limited else _UNLIMITED,
            user_agent=f"clientgo-operator/{__version__} ({name})",
            metrics=given.metrics or (None if metrics is NO_METRICS else metrics),
        )
    )
