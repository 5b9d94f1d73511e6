"""What an operator has counted and logged, for assertions; pytest has them as fixtures."""

from __future__ import annotations

import logging
from typing import Any, cast

from clientgo.observe.logs import ContextFilter
from clientgo.observe.logs.formatters import fields_of
from clientgo.observe.metrics import MetricsProvider
from clientgo.util.extras import needing_extra


class MetricCapture:
    """Give ``provider`` to the manager: ``Manager(..., metrics_provider=metrics.provider)``."""

    def __init__(self) -> None:
        with needing_extra("metrics", "counting an operator's metrics"):
            from prometheus_client import CollectorRegistry

            from clientgo.observe.metrics.prometheus import PrometheusProvider

        self._registry = CollectorRegistry()
        self.provider: MetricsProvider = cast(MetricsProvider, PrometheusProvider(self._registry))

    def value(self, name: str, **labels: str) -> float:
        """The sum over all series of a metric that have these labels; 0 if there are none.

        ``name`` is that of the exposition: counters end in ``_total``, histograms have ``_count``
        and ``_sum``.
        """
        return sum(
            sample.value
            for family in self._registry.collect()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


class LogCapture(logging.Handler):
    """Collects records with the fields of the run that they are from."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.addFilter(ContextFilter())
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def messages(self, level: int = logging.NOTSET, **fields: Any) -> list[str]:
        """What was logged at a level or above, with these fields, ``messages(key="default/a")``.

        A dot in the name of a field is written as an underscore: ``resource_name="a"``.
        """
        return [
            record.getMessage()
            for record in list(self.records)
            if record.levelno >= level and fields.items() <= _fields(record).items()
        ]


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name.replace(".", "_"): value for name, value in fields_of(record).items()}
