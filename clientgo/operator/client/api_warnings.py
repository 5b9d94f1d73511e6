"""What becomes of the warnings that the API server attaches to its answers.

Promises that each text is logged once, not with every reconcile; the last thousand are remembered.

Source: controller-runtime pkg/log, KubeAPIWarningLogger.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

from clientgo.rest import RestConfig, rest_config_of

REMEMBERED: Final = 1000

_log = logging.getLogger("clientgo.operator.client")


class WarningsOnce:
    """A handler of warnings. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def __call__(self, text: str) -> None:
        with self._lock:
            known = text in self._seen
            self._seen[text] = None
            self._seen.move_to_end(text)
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        if not known:
            _log.warning("the API server warns: %s", text)


def warning_once(cluster: Any) -> RestConfig:
    """How to reach a cluster, with this handler unless there is another one."""
    config = rest_config_of(cluster)
    return config if config.warning_handler else replace(config, warning_handler=WarningsOnce())
