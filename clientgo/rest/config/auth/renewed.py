"""Credentials from a source that is slow to ask: a plugin, or an issuer of tokens.

Promises: the source is asked by one thread for all requests that need an answer then, and each of
them gets the same identity or the same failure. An identity is used until it expires, or the server
refuses it. A request that is stopped no longer waits; when none waits, the source may stop. A
source that fails, or whose identities are refused, is asked three times and then every ten seconds.

Differs from client-go (`plugin/pkg/client/auth/exec` Authenticator): there each request that waits
repeats a failed run, without a pause, and none can stop waiting.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import Identity
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.flowcontrol import TokenBucketRateLimiter
from clientgo.util.process import SupervisedThread, renew_in_child
from clientgo.util.wait import StopEvent, wait_for_event

_log = logging.getLogger("clientgo.rest")

_BURST: Final = 3
_INTERVAL: Final = 10.0
"""How often the source is asked out of turn: after a failure, or for a refused identity."""


class Fresh(NamedTuple):
    """What a source gave. It ``expires`` at a Unix time; None: when the server refuses it."""

    identity: Identity
    expires: float | None


class AbandonedError(CopyableError):
    """The source gave up because no request waits for it any more."""


Source: TypeAlias = Callable[[StopEvent], Fresh]
"""Asks for an identity. Raises :class:`ConfigError`; :class:`AbandonedError` only once its argument
is set, which it need not heed."""


class _Run:
    """One question to the source, with the requests that wait for its answer."""

    __slots__ = ("abandoned", "done", "failure", "fresh", "waiting")

    def __init__(self) -> None:
        self.abandoned = StopEvent()
        self.done = StopEvent()
        self.fresh: Fresh | None = None
        self.failure: ConfigError | None = None
        self.waiting = 0


@uncopyable("it has locks; load the configuration in each process")
class RenewedCredentials:
    """Credentials of a source; thread-safe. ``what`` it is stands in messages.

    ``fresh`` is used before the source is asked first.
    """

    def __init__(
        self, source: Source, what: str, fresh: Fresh | None = None, *, clock: Clock = REAL_CLOCK
    ) -> None:
        self._source = source
        self._what = what
        self._clock = clock
        self._fresh = fresh
        self._failure: ConfigError | None = None
        self._out_of_turn = TokenBucketRateLimiter(1 / _INTERVAL, _BURST, clock=clock)
        self._run: _Run | None = None
        self._lock = threading.Lock()
        renew_in_child(self, "_lock", renew=RenewedCredentials._leave_run_to_parent)

    def current(self, stop: threading.Event | None = None) -> Identity:
        while True:
            with self._lock:
                fresh = self._fresh
                if fresh is not None and not self._has_expired(fresh):
                    return fresh.identity
                run = self._join_locked(in_turn=self._failure is None and not self._born_expired)
                if run is None:
                    if self._failure is not None:
                        raise self._failure.with_traceback(None)
                    assert fresh is not None
                    return fresh.identity
            if (fresh := self._outcome(run, stop)) is not None:
                return fresh.identity

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        while True:
            with self._lock:
                fresh = self._fresh
                if fresh is None or fresh.identity is not refused:
                    return fresh is None or fresh.identity != refused
                run = self._join_locked(in_turn=False)
            if run is None:
                return False
            try:
                renewed = self._outcome(run, stop)
            except ConfigError as error:
                if stop is None or not stop.is_set():
                    _log.warning("The server refused the credentials of %s: %s", self._what, error)
                return False
            if renewed is not None:
                return renewed.identity != refused

    def __repr__(self) -> str:
        return f"RenewedCredentials({self._what})"

    _born_expired = False
    """The last identity had expired when the source gave it, so time says nothing about it."""

    def _has_expired(self, fresh: Fresh) -> bool:
        return fresh.expires is not None and self._clock.time() > fresh.expires

    def _join_locked(self, *, in_turn: bool) -> _Run | None:
        """Return the run to wait for, a new one if there is none; None if it is too soon for it."""
        if self._run is None:
            if not in_turn and not self._out_of_turn.try_accept():
                return None
            run = _Run()
            thread = SupervisedThread(
                self._ask,
                args=(run,),
                name="clientgo-credentials",
                then=f"{self._what} is asked again by the next request",
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise ConfigError(
                    f"{self._what} cannot be asked: {error}", advice="allow more threads"
                ) from error
            self._run = run
        self._run.waiting += 1
        return self._run

    def _outcome(self, run: _Run, stop: threading.Event | None) -> Fresh | None:
        """Wait for a run; return its identity, None if it was abandoned, or raise its failure."""
        try:
            wait_for_event(run.done, None, stop)
        finally:
            with self._lock:
                run.waiting -= 1
                is_last = run.waiting == 0
            if is_last and not run.done.is_set():
                run.abandoned.set()
        if not run.done.is_set():
            raise ConfigError(f"stopped while waiting for {self._what}", advice="start again")
        if run.failure is not None:
            raise run.failure.with_traceback(None)
        return run.fresh

    def _ask(self, run: _Run) -> None:
        fresh, failure = None, None
        try:
            fresh = self._source(run.abandoned)
        except AbandonedError:
            _log.debug("No request waits for %s any more", self._what)
        except ConfigError as error:
            failure = error
        except BaseException as error:
            failure = ConfigError(
                f"{self._what} failed by {type(error).__name__}", advice="see the log"
            )
            raise
        finally:
            with self._lock:
                self._run = None
                if fresh is not None:
                    self._fresh, self._born_expired = fresh, self._has_expired(fresh)
                if fresh is not None or failure is not None:
                    self._failure = failure
            run.fresh, run.failure = fresh, failure
            run.done.set()

    def _leave_run_to_parent(self) -> None:
        self._run = None
