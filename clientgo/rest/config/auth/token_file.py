"""A bearer token in a file that another program replaces, as the kubelet does.

Promises: the file is read again every minute and after a 401. A file that is missing, empty or
half written keeps the last token, with one warning.

Source: client-go `transport` NewCachedFileTokenSource, which does not read it again after a 401.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace
from typing import Final

from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import NOBODY, Identity
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import renew_in_child

_log = logging.getLogger("clientgo.rest")

_PERIOD: Final = 60.0 - 10.0
"""A minute less the time that a token must still be good for, both as in client-go: the kubelet
replaces a token of ten minutes when two of them are left."""
_LONGEST: Final = 1 << 20


def bearer(token: str, source: str) -> str:
    """Return the value of a header with this token, which came from ``source``.

    Raises :class:`ConfigError` for what no header can carry; it does not show the token.
    """
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(
            f"{source} has line breaks, control characters or non-ASCII characters in its token",
            advice="a token is one line of ASCII text; write it without a line break at its end",
        )
    return f"Bearer {token}"


@uncopyable("it has locks; load the configuration in each process")
class TokenFile:
    """Credentials with the token of a file; thread-safe.

    ``identity`` has what goes with the token: a client certificate, and the authorization to use
    while the file was never readable. Without that, the file is read immediately, and
    :class:`ConfigError` raised if it has no token.
    """

    def __init__(
        self, path: str, identity: Identity = NOBODY, *, clock: Clock = REAL_CLOCK
    ) -> None:
        self._path = path
        self._identity = identity
        self._clock = clock
        self._read_at: float | None = None
        self._warned = False
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        if not identity.authorization:
            self._read_locked()

    def current(self, stop: threading.Event | None = None) -> Identity:
        with self._lock:
            if self._read_at is None or self._clock.monotonic() - self._read_at >= _PERIOD:
                self._read_or_keep_locked()
            return self._identity

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        with self._lock:
            if self._identity == refused:
                self._read_or_keep_locked()
            return self._identity != refused

    def __repr__(self) -> str:
        return f"TokenFile({self._path!r})"

    def _read_or_keep_locked(self) -> None:
        try:
            self._read_locked()
        except ConfigError as error:
            if not self._warned:
                _log.warning("%s (until then the last token is used)", error)
            self._warned = True
        else:
            self._warned = False

    def _read_locked(self) -> None:
        authorization = bearer(_token_in(self._path), f"the token file {self._path!r}")
        self._read_at = self._clock.monotonic()
        if authorization != self._identity.authorization:
            self._identity = replace(self._identity, authorization=authorization)


def _token_in(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"the token file cannot be read: {reason}",
            path=os.fspath(path),
            advice="check tokenFile of the user, and the permissions of the file",
        ) from error
    token = content.decode("ascii", errors="replace").strip()
    if not token:
        raise ConfigError(
            "the token file is empty",
            path=os.fspath(path),
            advice="write the token into it, or mount the service account's token again",
        )
    return token
