"""The client that a manager makes for itself.

Promises that each warning of the API server is logged once, not with every reconcile; the last
thousand are remembered.

Source: controller-runtime pkg/client/config, pkg/log KubeAPIWarningLogger.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Any, Final

from clientgo import __version__
from clientgo.client import Client
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.record.lru_cache import LRUCache
from clientgo.rest import RestConfig, rest_config_of

REMEMBERED: Final = 1000

_log = logging.getLogger("clientgo.operator.client")


def client_of(cluster: Any, name: str, metrics: MetricsProvider) -> Client:
    """Return a client as it is, and for anything else one with the user agent of an operator.

    Raises :class:`~clientgo.rest.ConfigError`.
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


class WarningsOnce:
    """A handler of warnings. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: LRUCache[str, bool] = LRUCache(REMEMBERED)

    def __call__(self, text: str) -> None:
        with self._lock:
            known = self._seen.get(text)
            self._seen.put(text, True)
        if not known:
            _log.warning("the API server warns: %s", text)


def warning_once(cluster: Any) -> RestConfig:
    """Return how to reach a cluster, with this handler unless it has one."""
    config = rest_config_of(cluster)
    return config if config.warning_handler else replace(config, warning_handler=WarningsOnce())
