"""What goes wrong between a reflector, its server and its store, and what each error says.

Promises: a predicate looks at the answer of the server, not at its text. An error of another
package is the ``__cause__`` of the one here.
"""

from __future__ import annotations

import errno
from typing import Self

from clientgo.cache.store.resource_versions import is_older
from clientgo.meta import (
    StatusError,
    is_expired,
    is_too_large_resource_version,
    is_too_many_requests,
)
from clientgo.util.copies import CopyableError


class ListFailedError(CopyableError):
    """A list failed; the server's answer is the ``__cause__``."""


class VeryShortWatchError(CopyableError):
    """A watch ended within a second without a single event."""


class NoVersionError(CopyableError):
    """A watch ended, and neither its events nor the list before it carried a resource version."""


class ServerWentBackError(CopyableError):
    """The server's newest version is older than one that it has sent."""

    def __init__(self, newest: str, sent: str) -> None:
        super().__init__(
            f"the server is at version {newest} and has sent version {sent} before: it was "
            "restored or replaced; listing again"
        )

    @classmethod
    def shown_by(cls, newest: str, sent: str) -> Self | None:
        """Return an error if the server's newest version is older than one that it has sent."""
        return cls(newest, sent) if is_older(newest, sent) else None


class UnexpectedObjectError(CopyableError):
    """An ERROR event whose object is no Status."""


class NotServedError(CopyableError):
    """The server says that it does not serve the kind; its 404 is the ``__cause__``.

    ``objects_deleted`` is True if the kind's objects are known to be deleted: so are those of a
    definition that was deleted, but not those of a version that is not served any more.
    """

    def __init__(self, what: str, reason: str, *, objects_deleted: bool = False) -> None:
        super().__init__(f"{what} is not served: {reason}")
        self.objects_deleted = objects_deleted


class StreamedListOverdueError(CopyableError):
    """A streamed list did not come to its end in time."""


class ConsumerFailedError(CopyableError):
    """The consumer of the store lost a change; its error is the ``__cause__``."""


class ResyncFailedError(CopyableError):
    """The store refused to resync; its error is the ``__cause__``."""


class StoreRefusedError(CopyableError):
    """The store refused an object or a list; its error is the ``__cause__``."""


def is_overloaded(error: Exception) -> bool:
    """Return True if the server has no capacity for the request now, or is not up."""
    return is_too_many_requests(error) or is_connection_refused(error)


def is_unavailable(error: Exception) -> bool:
    """Return True if the server no longer, or not yet, has the version that was asked for."""
    return is_expired(error) or is_too_large_resource_version(error)


def is_connection_refused(error: BaseException | None) -> bool:
    """Return True if nothing listens at the server's address, by the error or one of its causes."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
            return True
        error = error.__cause__ or error.__context__
    return False


def store_refused(what: str, error: Exception) -> StoreRefusedError:
    """Return the error for something that the store did not take."""
    refused = StoreRefusedError(f"the store refused {what}: {error}")
    refused.__cause__ = error
    return refused


def retry_after(error: BaseException | None) -> float:
    """Return the seconds of a Retry-After, from the error or one of its causes."""
    while error is not None:
        if isinstance(error, StatusError):
            return error.retry_after or 0.0
        error = error.__cause__
    return 0.0
