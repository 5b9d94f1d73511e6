"""What a run of a reconciler ends in, when it does not raise.

Promises one immutable value for what to write and when to run again. An outcome is a result or an
exception, so no delay is ignored because of an error. An event may bring the next run forward.

Differs from controller-runtime (``reconcile.Result``), where the reconciler writes, and from Java
Operator SDK (``UpdateControl``, ``DeleteControl``): one class serves ``reconcile`` and ``cleanup``.
An immediate repetition cannot be expressed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from clientgo.operator.settings.durations import Duration, positive_seconds

WriteMode: TypeAlias = Literal["patch", "update", "apply"]
"""``patch`` sends what differs from what was read, ``update`` the whole object, ``apply`` the whole
object by server-side apply, as this controller's fields, by force."""


class Write(enum.Enum):
    """Which part of the object the framework writes."""

    NOTHING = "nothing"
    STATUS = "status"
    RESOURCE = "resource"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one run: ``return Result.status(foo).after(30)``.

    Source: controller-runtime pkg/reconcile Result; Java Operator SDK UpdateControl.
    """

    write: Write = Write.NOTHING
    obj: Any = None
    mode: WriteMode = "patch"
    optimistic: bool = True
    """True: a write is refused if the object has changed since it was read."""
    delay: float | None = None
    requeue_priority: int | None = None
    keeps_finalizer: bool = False

    @classmethod
    def done(cls) -> Result:
        """Nothing to write, nothing to wait for; the same as returning None."""
        return _DONE

    @classmethod
    def requeue(cls, after: Duration) -> Result:
        """Run again after that many seconds, unless something happens before.

        Raises ``ConfigError`` unless ``after`` is positive.
        """
        return _DONE.after(after)

    @classmethod
    def status(cls, obj: Any, *, mode: WriteMode = "patch", optimistic: bool = True) -> Result:
        """Write the object's status; no request is made if nothing has changed."""
        return cls(Write.STATUS, obj, mode, optimistic)

    @classmethod
    def resource(cls, obj: Any, *, mode: WriteMode = "patch", optimistic: bool = True) -> Result:
        """Write the object, except its status; no request is made if nothing has changed."""
        return cls(Write.RESOURCE, obj, mode, optimistic)

    @classmethod
    def both(cls, obj: Any, *, mode: WriteMode = "patch", optimistic: bool = True) -> Result:
        """Write the object, then its status; if the first fails the second is not tried."""
        return cls(Write.BOTH, obj, mode, optimistic)

    def after(self, delay: Duration) -> Result:
        """Return the same, and look again after so many seconds."""
        return replace(self, delay=positive_seconds(delay, "Result.after(...)"))

    def priority(self, value: int) -> Result:
        """Return the same, with a priority for the next look; ordinary work has 0."""
        return replace(self, requeue_priority=value)

    def keep_finalizer(self) -> Result:
        """Return the same, from ``cleanup``: not done yet, the object must stay."""
        return replace(self, keeps_finalizer=True)


_DONE = Result()


@dataclass(frozen=True, slots=True)
class ErrorResult:
    """What ``on_error`` may answer. Source: Java Operator SDK ErrorStatusUpdateControl."""

    obj: Any = None
    retries: bool = True
    delay: float | None = None

    @classmethod
    def default(cls) -> ErrorResult:
        """Go on as the retry policy says; the same as returning None."""
        return _DEFAULT

    @classmethod
    def status(cls, obj: Any) -> ErrorResult:
        """Write the object's status, then go on as the retry policy says."""
        return cls(obj)

    def no_retry(self) -> ErrorResult:
        """Return the same, and do not try again: only a change of the object can help."""
        return replace(self, retries=False)

    def after(self, delay: Duration) -> ErrorResult:
        """Return the same, and try again after so many seconds instead of the policy's."""
        return replace(self, delay=positive_seconds(delay, "ErrorResult.after(...)"))


_DEFAULT = ErrorResult()
