"""One line in the log each time a reflector's errors change, and one when they end."""

from __future__ import annotations

import logging

from clientgo.cache.reflector.list_watch import PROGRAMMING_ERRORS
from clientgo.meta import StatusError
from clientgo.util.text.escapes import escaped

_log = logging.getLogger("clientgo.cache.reflector")


class ErrorLog:
    """Logs the errors of one reflector. Has one user."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[object, ...] = ()

    def failed(self, error: Exception) -> None:
        """Log an error: a warning if it is new, otherwise a line at DEBUG.

        An error in the code of the list-watch is logged each time, with its place.
        """
        if isinstance(error.__cause__ or error, PROGRAMMING_ERRORS):
            text = "%s: %s; that is a bug in the list-watch, tried again until it works"
            _log.error(text, self._name, escaped(str(error)), exc_info=error)
            return
        kind = _kind_of(error)
        level = logging.DEBUG if kind == self._last else logging.WARNING
        self._last = kind
        # Escaped here too, because a server's text may go to a handler that does not.
        _log.log(level, "%s: %s; trying again until it works", self._name, escaped(str(error)))

    def recovered(self) -> None:
        """Log that the last error is over, if there was one."""
        if self._last:
            self._last = ()
            _log.info("%s: it works again", self._name)


def _kind_of(error: BaseException | None) -> tuple[object, ...]:
    """Return the kind of an error; its text may differ each time, as the text of a timeout does."""
    if error is None:
        return ()
    if isinstance(error, StatusError):
        return (error.code, error.reason)
    return (type(error), *_kind_of(error.__cause__))
