"""Failures that say nothing about the object: the API server was away or busy, or a write lost.

Transport errors, answers that do not decode, 429, every 5xx and conflicts use no attempt of a
retry policy and are always retried. An error that wraps one counts as one. Of several errors all
must be transient.

Differs from Java Operator SDK and controller-runtime, where these failures count as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clientgo.meta import DecodeError, StatusError, is_conflict, is_too_many_requests
from clientgo.operator.errors import SeveralErrors
from clientgo.operator.retry import ExponentialRetry
from clientgo.rest import TransportError

TRANSIENT_RETRY: Final = ExponentialRetry(initial=0.1, multiplier=2.0, max_attempts=None, cap=30.0)
"""Short at first, for conflicts; after an outage no object waits for more than half a minute."""


def is_transient(error: BaseException) -> bool:
    """Return True if another try may succeed though nothing about the object changes."""
    if isinstance(error, TransportError | DecodeError):
        return True
    if isinstance(error, StatusError):
        return is_conflict(error) or is_too_many_requests(error) or error.code >= 500
    parts = list(_parts(error))
    return bool(parts) and all(map(is_transient, parts))


def retry_after(error: BaseException) -> float:
    """Return how many seconds the API server asked to wait; 0 if it did not."""
    if isinstance(error, StatusError):
        return error.retry_after or 0.0
    return max(map(retry_after, _parts(error)), default=0.0)


def _parts(error: BaseException) -> Iterable[BaseException]:
    """Return the errors that an error consists of, or the one that it wraps."""
    if isinstance(error, SeveralErrors):
        return error.errors.values()
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions
    return () if error.__cause__ is None else (error.__cause__,)
