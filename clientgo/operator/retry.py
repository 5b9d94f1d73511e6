"""Retry policies: how long an object waits after a failed run, and when the retries end.

Promises pure functions of the given state, so one policy serves every controller. An event runs the
object immediately; transient failures have a policy of their own (``runs/transient.py``).

Differs from Java Operator SDK, whose default gives up after five retries, as :func:`generic` does,
and applies the multiplier one attempt late.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

from clientgo.meta.timestamps import parse_time
from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import Duration, positive_seconds, seconds

BackoffSource: TypeAlias = Literal["status", "memory"]

AfterExhaustion: TypeAlias = Literal["max_interval", "wait"]

_GENERIC_CAP: Final = 15.187
"""2 s times 1.5 to the fifth, in whole milliseconds."""

_CAP: Final = 300.0
"""Five minutes: short enough that an object recovers soon after its cause, long enough that
thousands of failing objects are a few runs a second."""


@dataclass(frozen=True, slots=True)
class RetryState:
    """What a policy knows of an object that has failed.

    ``attempt`` counts the retries so far, 0 after the first failure.
    """

    attempt: int
    since_first_failure: float = 0.0
    obj: Any = None
    now: float = 0.0
    """Wall clock, Unix seconds."""


@runtime_checkable
class RetryPolicy(Protocol):
    """Decides after a failure; called from several threads.

    A subclass needs only :meth:`delay`. Any object with such a method will do as a setting; see
    :func:`policy_of`.
    """

    def delay(self, state: RetryState, error: Exception, /) -> float | None:
        """Seconds until the next retry, or None for no more retries."""

    @property
    def max_attempts(self) -> int | None:
        """After how many retries it gives up; None if never, or if it does not say."""
        return None

    @property
    def reset_on_generation(self) -> bool:
        """True: a new generation of the object gets all attempts again."""
        return False

    @property
    def after_exhaustion(self) -> AfterExhaustion:
        """``"max_interval"`` runs the object again when the safety timer ends, ``"wait"`` only
        when something happens."""
        return "max_interval"


@dataclass(frozen=True, slots=True)
class ExponentialRetry:
    """Delays that grow by a factor, up to a cap, for a number of attempts.

    ``max_attempts`` None is for ever. ``jitter`` j adds up to j times the delay at random.
    ``reset_on_generation``: a new generation of the object gets all attempts again.
    ``after_exhaustion``: ``"max_interval"`` looks again when the safety timer ends, ``"wait"``
    only when something happens.
    """

    initial: float
    multiplier: float
    max_attempts: int | None
    cap: float
    jitter: float = 0.0
    reset_on_generation: bool = False
    after_exhaustion: AfterExhaustion = "max_interval"
    random: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def delay(self, state: RetryState, _error: Exception, /) -> float | None:
        if self.max_attempts is not None and state.attempt >= self.max_attempts:
            return None
        try:
            grown = self.initial * self.multiplier**state.attempt
        except OverflowError:
            grown = self.cap
        length = min(grown, self.cap)
        return length * (1 + self.jitter * self.random()) if self.jitter else length


@dataclass(frozen=True, slots=True)
class BestPracticeRetry(RetryPolicy):
    """Waits twice as long as the last failure was ago, by the object's status.

    Where the status has no failure, the delay doubles with each attempt. Never less than ``first``,
    never more than ``cap``; no limit of attempts.

    Source: Red Hat's operator best practices, ManageError, where the delay may be 0.
    """

    first: float = 2.0
    cap: float = 21600.0
    source: BackoffSource = "status"

    def delay(self, state: RetryState, _error: Exception, /) -> float:
        elapsed = _since_noted_failure(state) if self.source == "status" else None
        if elapsed is not None:
            return min(max(2.0 * round(elapsed), self.first), self.cap)
        doublings = min(state.attempt, 64)
        return min(self.first * 2.0**doublings, self.cap)


def _since_noted_failure(state: RetryState) -> float | None:
    status = getattr(state.obj, "status", None)
    noted = getattr(status, "last_update", None)
    if not noted or getattr(status, "status", None) != "Failure":
        return None
    return state.now - parse_time(noted)


def exponential(
    initial: Duration = 2.0,
    multiplier: float = 1.5,
    max_attempts: int | None = None,
    max_interval: Duration = _CAP,
    jitter: float = 0.0,
    reset_on_generation: bool = False,
    after_exhaustion: AfterExhaustion = "max_interval",
) -> ExponentialRetry:
    """Retry after 2, 3, 4.5, 6.75 ... seconds, up to 5 minutes, without end: the default.

    After a cause that lasted t seconds the object waits for about t/2 more at most. Raises
    ``ConfigError`` for numbers that make no sense.
    """
    if multiplier < 1:
        raise ConfigError(f"multiplier must be at least 1, not {multiplier}")
    if max_attempts is not None and max_attempts < 0:
        raise ConfigError(
            f"max_attempts must not be negative, as {max_attempts} is; None: no limit"
        )
    if jitter < 0:
        raise ConfigError(f"jitter must not be negative, as {jitter} is")
    return ExponentialRetry(
        initial=positive_seconds(initial, "initial"),
        multiplier=multiplier,
        max_attempts=max_attempts,
        cap=positive_seconds(max_interval, "max_interval"),
        jitter=jitter,
        reset_on_generation=reset_on_generation,
        after_exhaustion=after_exhaustion,
    )


def generic(
    initial: Duration = 2.0,
    multiplier: float = 1.5,
    max_attempts: int | None = 5,
    max_interval: Duration = _GENERIC_CAP,
    jitter: float = 0.0,
    reset_on_generation: bool = False,
    after_exhaustion: AfterExhaustion = "max_interval",
) -> ExponentialRetry:
    """Retry five times, after 2, 3, 4.5, 6.75 and 10.125 seconds, then give up.

    Like :func:`exponential`, with the limits of Java Operator SDK's GenericRetry.
    """
    return exponential(
        initial,
        multiplier,
        max_attempts,
        max_interval,
        jitter,
        reset_on_generation,
        after_exhaustion,
    )


def fixed(interval: Duration = 10.0, max_attempts: int | None = 10) -> ExponentialRetry:
    """Retry after the same delay each time."""
    length = seconds(interval, "interval")
    return exponential(length, 1.0, max_attempts, length)


def workqueue(base: Duration = 0.005, cap: Duration = 1000.0) -> ExponentialRetry:
    """Retry with the delays of client-go: 5 ms, doubled each time up to 1000 s.

    Source: k8s.io/client-go/util/workqueue, ItemExponentialFailureRateLimiter.
    """
    return exponential(base, 2.0, None, cap)


def best_practice(
    first: Duration = 2.0, cap: Duration = 21600.0, source: BackoffSource = "status"
) -> BestPracticeRetry:
    """Delays that double from 2 s up to six hours, and survive a restart in the object's status.

    With ``source="memory"`` they are counted from 2 s again after one.
    """
    return BestPracticeRetry(positive_seconds(first, "first"), positive_seconds(cap, "cap"), source)


def none() -> ExponentialRetry:
    """No retries: the object runs again when it changes."""
    return exponential(max_attempts=0)


PRESETS: Final[Mapping[str, Callable[[], RetryPolicy]]] = {
    "exponential": exponential,
    "generic": generic,
    "fixed": fixed,
    "workqueue": workqueue,
    "best_practice": best_practice,
    "none": none,
}


def policy_of(given: Any, config: Any) -> RetryPolicy:
    """Return the policy that is meant: one itself, a class, a preset's name or ``module:Class``.

    A class is built by its ``from_config(config)`` if it has that. Raises ``ConfigError``.
    """
    found = _named(given) if isinstance(given, str) else given
    if isinstance(found, type):
        build = getattr(found, "from_config", None)
        found = found() if build is None else build(config)
    if not callable(getattr(found, "delay", None)):
        raise ConfigError(f"{given!r} is no retry policy: it has no delay(state, error)")
    if isinstance(found, RetryPolicy):
        return found
    said = {name: getattr(found, name) for name in _Adapted.OPTIONAL if hasattr(found, name)}
    return _Adapted(found.delay, **said)


@dataclass(frozen=True, slots=True)
class _Adapted:
    """The policy of an object with ``delay`` that lacks some of the rest."""

    OPTIONAL: ClassVar = ("max_attempts", "reset_on_generation", "after_exhaustion")

    delay: Callable[[RetryState, Exception], float | None]
    max_attempts: int | None = None
    reset_on_generation: bool = False
    after_exhaustion: AfterExhaustion = "max_interval"


def _named(name: str) -> Any:
    if name in PRESETS:
        return PRESETS[name]()
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"there is no retry policy {name!r}; write package.module:Class, or one of "
            + ", ".join(PRESETS)
        ) from error
