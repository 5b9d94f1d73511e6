"""Makes faults happen: where a request enters, and where a watch's events leave.

Promises: with no fault injected, requests pass untouched. A counted fault looks at every request
that it matches, whatever other faults do to it, so that counts do not depend on each other. How
often each fault has struck can be asked and waited for from any thread; everything else here
belongs to the server's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary

from clientgo.apiserver.auth.authentication import Authenticator
from clientgo.apiserver.faults.answers import Cut, CutAnswer, FaultyWatch
from clientgo.apiserver.faults.declarations import (
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.apiserver.faults.matching import Asked
from clientgo.apiserver.http.messages import Answer, Request
from clientgo.apiserver.requests.listing import ContinueToken
from clientgo.apiserver.requests.watching import WatchStream
from clientgo.apiserver.resources.status_errors import StatusError
from clientgo.apiserver.storage.storage import Storage

Handler = Callable[[Request], Awaitable[Answer]]

_LONG_EXPIRED = 1
"""A resource version that no server's history reaches back to."""

_REASONS = {
    429: "TooManyRequests",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    500: "InternalError",
    504: "Timeout",
}
"""Reasons whose words are not those of HTTP."""

_AT_ENTRY = (FailRequests, DelayRequests, CutAnswers, ExpireContinueTokens, StaleLists)
"""Faults that strike a request; the others act on watches or on the server."""

_BOOKMARK = b'{"type":"BOOKMARK"'
_INITIAL_EVENTS_END = b"k8s.io/initial-events-end"


@dataclass(slots=True, eq=False)
class _Rule:
    """A fault that holds, and how far it has come."""

    fault: Any
    version: int
    """The storage's, when the fault was injected."""
    since: float
    random: random.Random
    matched: int = 0
    expired: int = 0
    """How often history has expired by this rule."""
    frozen: WeakKeyDictionary[FaultyWatch, bool] = field(default_factory=WeakKeyDictionary)
    """Watches that are to be silent, and whether they have had something to say."""

    def strikes(self) -> bool:
        """Count a request that matches; whether it is one of those that are struck."""
        self.matched += 1
        fault = self.fault
        if hasattr(fault, "times"):
            past = self.matched - fault.skip
            if past < 1 or (fault.times is not None and past > fault.times):
                return False
        return not isinstance(fault, FailRequests) or self.chooses()

    def chooses(self) -> bool:
        """Leave it to chance."""
        return bool(self.random.random() < self.fault.chance)

    def meet(self, watch: FaultyWatch) -> None:
        """Choose whether a watch is frozen, once."""
        if (
            isinstance(self.fault, FreezeWatches)
            and watch.concerns(self.fault.requests)
            and self.chooses()
        ):
            self.frozen[watch] = False


@dataclass(slots=True)
class FaultInjector:
    """The faults that hold on one server; they outlive its restarts."""

    authenticator: Authenticator
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _rules: list[_Rule] = field(default_factory=list)
    _watches: dict[FaultyWatch, None] = field(default_factory=dict)
    """Those that are open, in the order in which they began, so that a seed chooses the same."""
    _struck: Counter[Fault] = field(default_factory=Counter)
    _striking: threading.Condition = field(default_factory=threading.Condition)

    def now(self) -> float:
        """The time, as far as the server knows it."""
        skews = (rule.fault.seconds for rule in _of_type(self._rules, SkewClock))
        return sum(skews, start=self.clock())

    # -- told by the test

    def inject(self, fault: Fault, storage: Storage) -> None:
        """Let a fault happen: at once, or from now on.

        Raises:
            ValueError: no header could carry the token.
        """
        if isinstance(fault, RestartServer):
            raise TypeError("a server restarts from outside of its event loop")
        if isinstance(fault, ExpireHistory) and fault.every is None:
            storage.expire_history()
            self.count(fault)
        elif isinstance(fault, RotateToken):
            self.authenticator.token = fault.token
            self._close(list(self._watches), abruptly=False)
            self.count(fault)
        elif isinstance(fault, CloseWatches):
            chance = random.Random(fault.seed)
            concerned = [watch for watch in self._watches if watch.concerns(fault.requests)]
            chosen = [watch for watch in concerned if chance.random() < fault.chance]
            self._close(chosen, abruptly=fault.abruptly)
            self.count(fault, len(chosen))
        else:
            seed = getattr(fault, "seed", 0)
            rule = _Rule(fault, storage.version, self.elapsed(), random.Random(seed))
            self._rules.append(rule)
            for watch in self._watches:
                rule.meet(watch)

    def _close(self, watches: list[FaultyWatch], *, abruptly: bool) -> None:
        for watch in watches:
            watch.close(abruptly=abruptly)

    def lift(self, fault: Fault | None) -> None:
        """End one fault, or all; frozen watches go on."""
        self._rules = [rule for rule in self._rules if fault is not None and rule.fault != fault]
        for watch in self._watches:
            watch.look_again()

    def active(self) -> list[Fault]:
        """The faults that hold."""
        return [rule.fault for rule in self._rules]

    def hang_up(self) -> None:
        """Cut the watches that are frozen: the server stops."""
        for watch in list(self._watches):
            watch.hang_up()

    def struck(self, fault: Fault) -> int:
        """How often a fault has happened. From any thread."""
        with self._striking:
            return self._struck[fault]

    def wait_until_struck(self, fault: Fault, times: int, timeout: float) -> bool:
        """Wait until a fault has happened often enough; False if it has not. From any thread."""
        with self._striking:
            return self._striking.wait_for(lambda: self._struck[fault] >= times, timeout)

    def count(self, fault: Fault, times: int = 1) -> None:
        """Tell that a fault has happened. From any thread."""
        with self._striking:
            self._struck[fault] += times
            self._striking.notify_all()

    # -- where a request enters

    async def answer(self, request: Request, storage: Storage, handle: Handler) -> Answer:
        """Let ``handle`` answer a request, with the faults that strike it.

        Raises:
            StatusError: the request fails, by a fault or on its own.
        """
        self._expire_history(storage)
        asked = Asked.of(request)
        if asked is None:
            return await handle(request)
        rules = [
            rule
            for rule in self._rules
            if isinstance(rule.fault, _AT_ENTRY)
            and asked.is_one_of(rule.fault.requests)
            and _applies(rule.fault, asked)
            and rule.strikes()
        ]
        for rule in rules:
            self.count(rule.fault)
        for delay in _of_type(rules, DelayRequests):
            await asyncio.sleep(delay.fault.seconds)
        for failing in _of_type(rules, FailRequests):
            if failing.fault.after_effect:
                with contextlib.suppress(StatusError):  # nobody hears this answer either way
                    await handle(request)
            raise _failure(failing.fault)
        stale = _of_type(rules, StaleLists)
        if _of_type(rules, ExpireContinueTokens):
            _expire_token(request)
        elif stale and asked.verb == "list":
            _show_past(request, stale[0].version)
        elif stale and request.parameter("sendInitialEvents"):
            raise StatusError(
                422, "Invalid", "sendInitialEvents is forbidden on a server that lags"
            )
        answer = await handle(request)
        if isinstance(answer, WatchStream):
            return FaultyWatch(self, answer, asked, behind=[rule.fault for rule in stale])
        cut = _of_type(rules, CutAnswers)
        return CutAnswer(answer, cut[0].random) if cut else answer

    def _expire_history(self, storage: Storage) -> None:
        """Forget what is due. Nothing happens between requests that could tell the difference."""
        for rule in _of_type(self._rules, ExpireHistory):
            due = int((self.elapsed() - rule.since) / rule.fault.every)
            if due > rule.expired:
                storage.expire_history()
                self.count(rule.fault)
                rule.expired = due

    # -- where a watch's events leave

    def freezes(self, watch: FaultyWatch) -> bool:
        """Whether a watch is to be told nothing now, though there is something to tell."""
        freezing = [rule for rule in self._rules if watch in rule.frozen]
        for rule in freezing:
            if not rule.frozen[watch]:
                rule.frozen[watch] = True
                self.count(rule.fault)
        return bool(freezing) or any(rule.fault in watch.behind for rule in self._rules)

    def withhold(self, watch: FaultyWatch, lines: bytes) -> bytes:
        """The lines without the bookmarks that are not to be sent."""
        for rule in self._rules:
            if isinstance(rule.fault, WithholdBookmarks) and watch.concerns(rule.fault.requests):
                kept = [
                    line
                    for line in lines.splitlines(keepends=True)
                    if not _is_withheld(line, initial_only=rule.fault.initial_only)
                ]
                if sum(map(len, kept)) < len(lines):
                    self.count(rule.fault)
                lines = b"".join(kept)
        return lines

    def cut(self, watch: FaultyWatch) -> Cut | None:
        """How the next lines are cut; None if they are not."""
        for rule in self._rules:
            concerned = isinstance(rule.fault, CutAnswers) and watch.concerns(rule.fault.requests)
            if concerned and rule.strikes():
                self.count(rule.fault)
                return Cut(rule.random, rule.fault.mid_chunk)
        return None

    def enter(self, watch: FaultyWatch) -> None:
        """A watch has begun."""
        self._watches[watch] = None
        for rule in self._rules:
            rule.meet(watch)

    def leave(self, watch: FaultyWatch) -> None:
        """A watch has ended."""
        self._watches.pop(watch, None)


def _applies(fault: Fault, asked: Asked) -> bool:
    """Whether a fault can happen to a request; others are not counted."""
    if isinstance(fault, ExpireContinueTokens):
        return bool(asked.request.parameter("continue"))
    if isinstance(fault, StaleLists):
        return asked.verb in ("list", "watch") and not asked.request.parameter("continue")
    if isinstance(fault, CutAnswers):
        return asked.verb != "watch"  # those are cut as their events leave
    return True


def _of_type(rules: list[_Rule], kind: type[Fault]) -> list[_Rule]:
    return [rule for rule in rules if isinstance(rule.fault, kind)]


def _failure(fault: FailRequests) -> StatusError:
    reason = _REASONS.get(fault.status) or _words(fault.status)
    details: dict[str, Any] = {}
    headers: tuple[tuple[str, str], ...] = ()
    if fault.retry_after is not None:
        details["retryAfterSeconds"] = fault.retry_after
        headers = (("retry-after", str(fault.retry_after)),)
    return StatusError(fault.status, reason, "the request fails by command", details, headers)


def _words(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.replace(" ", "")
    except ValueError:
        return ""


def _expire_token(request: Request) -> None:
    token = ContinueToken.parse(request.parameter("continue"))
    expired = ContinueToken(_LONG_EXPIRED, token.start).encode()
    request.query = {**request.query, "continue": [expired]}


def _show_past(request: Request, version: int) -> None:
    past = {"resourceVersion": [str(version)], "resourceVersionMatch": ["Exact"]}
    request.query = {**request.query, **past}


def _is_withheld(line: bytes, *, initial_only: bool) -> bool:
    return line.startswith(_BOOKMARK) and (not initial_only or _INITIAL_EVENTS_END in line)
