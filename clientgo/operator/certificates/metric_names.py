"""The metrics of certificates that are read again and again.

Source: controller-runtime ``certwatcher/metrics``.
"""

from __future__ import annotations

from typing import Final

from clientgo.metrics import Metric

CERTIFICATE_READS: Final = Metric(
    "certwatcher_read_certificate_total", "Times that certificates were read"
)
CERTIFICATE_READ_ERRORS: Final = Metric(
    "certwatcher_read_certificate_errors_total", "Times that certificates could not be used"
)
