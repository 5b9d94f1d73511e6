"""The errors of the operator layer: one class for each thing that a caller can act on.

Promises messages that name the controller, kind or object, and what to do next. A refusal by the
API server stays a ``StatusError``.

Differs from controller-runtime: a declaration that cannot work is an error when it is made.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from clientgo.meta import NotFoundError, ObjectName, metadata_of
from clientgo.util.copies import CopyableError


class OperatorError(CopyableError):
    """Base of everything that this layer raises."""


# Declaring


class DeclarationError(OperatorError):
    """A controller, source, webhook or manager is declared in a way that cannot work."""


class ConfigError(DeclarationError):
    """A setting is missing, unknown or out of range."""


# Running


class AlreadyStartedError(OperatorError):
    """Something that runs once was started a second time."""


class ManagerStoppedError(OperatorError):
    """The manager has stopped; make a new one."""


class CacheSyncTimeoutError(OperatorError):
    """Some caches did not have their first list in time; the message names each, and why."""


class ShutdownTimeoutError(OperatorError):
    """Threads were still at work when the time for a graceful stop was over."""

    def __init__(self, threads: list[str], timeout: float) -> None:
        super().__init__(
            f"still running {timeout:g} s after the stop: {', '.join(threads)}; "
            "reconcilers should look at ctx.cancelled"
        )
        self.threads = threads


class LeadershipLostError(OperatorError, SystemExit):
    """Another process may lead now; end this one, so that it can become a candidate again.

    A program that does not catch it exits with its message and status 1.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message


class CancelledError(OperatorError):
    """The controller stops, or the run has taken too long; give up what you are doing."""


class ReconcileTimeoutError(OperatorError):
    """A run took longer than the controller's ``reconcile_timeout``."""


# Reading


class CacheNotStartedError(OperatorError):
    """The cache was read before the manager was started; read with ``client.live`` until then."""


class KindNotCachedError(OperatorError):
    """No controller of this manager declares that it reads the kind."""


class NamespaceNotCachedError(OperatorError):
    """The namespace lies outside of what is watched."""


class IndexNotFoundError(OperatorError):
    """A cached list asks for a field that has no index."""


# The outcome of a run


class TerminalError(OperatorError):
    """Raise it for a failure that no retry can cure: only a change of the object can.

    The object runs again when it changes, and when its safety timer ends.
    """


class Retry(OperatorError):  # noqa: N818 - it reads as what it asks for: raise Retry(after=5)
    """Raise it to try again after that many seconds.

    It counts as a failed run, and not as an attempt of the retry policy.
    """

    def __init__(self, message: str = "", *, after: float | timedelta) -> None:
        super().__init__(message or f"asked to be tried again after {after}")
        self.after = after.total_seconds() if isinstance(after, timedelta) else float(after)
        if not self.after > 0:
            raise ConfigError(f"Retry(after=...) must be greater than 0, not {after!r}")


# Objects


def is_gone(error: BaseException, name: str) -> bool:
    """Return True if an error says that the object of a name does not exist.

    A 404 of a proxy, or of a server that does not serve the kind, names no object: it says nothing
    about it.
    """
    return isinstance(error, NotFoundError) and error.status.details.name == name


class AlreadyOwnedError(OperatorError):
    """An object that should be ours has another controller already."""

    def __init__(self, obj: Any, owner: Any) -> None:
        super().__init__(
            f"{getattr(obj, 'kind', 'object')} {ObjectName.of(obj)} is controlled by "
            f"{owner.kind} {owner.name!r}; choose another name, or delete it"
        )
        self.obj = obj
        self.owner = owner


class OwnershipError(OperatorError):
    """The owner reference would be one that the garbage collector acts wrongly on."""


class NamespaceTerminatingError(TerminalError):
    """Nothing can be created in a namespace that is being deleted."""

    def __init__(self, obj: Any) -> None:
        metadata = metadata_of(obj)
        super().__init__(
            f"namespace {metadata.namespace!r} is being deleted: {metadata.name!r} "
            "cannot be created in it"
        )


class SeveralErrors(OperatorError):  # noqa: N818 - it holds several
    """Some parts of the work on an object failed; ``errors`` has them by name."""

    def __init__(self, errors: dict[str, Exception]) -> None:
        super().__init__("; ".join(f"{name}: {error}" for name, error in sorted(errors.items())))
        self.errors = errors


class FinalizerErrors(SeveralErrors):
    """Clean-ups of an object failed; ``errors`` has them by finalizer."""


class DependentErrors(SeveralErrors):
    """Some dependents of an object failed; ``errors`` has them by name."""


class TerminalDependentErrors(DependentErrors, TerminalError):  # noqa: N818 - it holds several
    """Some dependents of an object failed, and no retry can cure any of them."""
