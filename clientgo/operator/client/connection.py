"""The client that a manager makes for itself.

Source: controller-runtime pkg/client/config.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clientgo import __version__
from clientgo.client import Client
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.client.api_warnings import warning_once


def client_of(cluster: Any, name: str, metrics: MetricsProvider) -> Client:
    """The client for what a manager is given: a client as it is, else one of its own.

    The manager's own client has the user agent of an operator. Raises
    :class:`~clientgo.rest.ConfigError`.
    """
    if isinstance(cluster, Client):
        return cluster
    given = warning_once(cluster)
    return Client(
        replace(
            given,
            user_agent=f"clientgo-operator/{__version__} ({name})",
            metrics=given.metrics or (None if metrics is NO_METRICS else metrics),
        )
    )
