"""Makes faults happen: where a request enters, and where a watch's events leave.

Promises: without faults, requests pass unchanged. A counted fault counts every request that it
matches, whatever other faults do to it, so that counts do not depend on each other. The number of
strikes can be read and waited for from any thread; everything else is used on the event loop.
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

from clientgo.testcluster.server.auth.authentication.shared_token import SharedToken
from clientgo.testcluster.server.faults.declarations import (
    ChoosingFault,
    CloseWatches,
    CountedFault,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.testcluster.server.faults.matching import (
    ObservedRequest,
    RequestObserver,
    ResourceRequest,
)
from clientgo.testcluster.server.faults.responses import Cut, CutResponse, FaultyWatch
from clientgo.testcluster.server.http.messages import AnyResponse, Request, Response
from clientgo.testcluster.server.requests.listing import ContinueToken
from clientgo.testcluster.server.requests.watching import WatchResponse
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.storage.storage import Storage

Handler = Callable[[Request], Awaitable[AnyResponse]]

_LONG_EXPIRED = 1
"""A resource version that is always too old."""

_REASONS = {
    429: "TooManyRequests",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    500: "InternalError",
    504: "Timeout",
}
"""Reasons that differ from the phrases of HTTP."""

_AT_ENTRY = (
    FailRequests,
    DelayRequests,
    HoldRequests,
    CutAnswers,
    ExpireContinueTokens,
    StaleLists,
)
"""Faults that strike requests; the others strike watches or the server."""

_BOOKMARK = b'{"type":"BOOKMARK"'
_INITIAL_EVENTS_END = b"k8s.io/initial-events-end"


@dataclass(slots=True, eq=False)
class _Rule:
    """An active fault and its state."""

    fault: Any
    version: int
    """Resource version of the storage when the fault was injected."""
    since: float
    random: random.Random
    matched: int = 0
    expired: int = 0
    """Number of times that this fault has cleared the history."""
    frozen: WeakKeyDictionary[FaultyWatch, bool] = field(default_factory=WeakKeyDictionary)
    """Frozen watches, and whether they have had an event to send."""
    lifted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the fault is lifted, for the requests that it holds."""

    def strikes(self) -> bool:
        """Count a request that matches; return True if the fault strikes it."""
        self.matched += 1
        fault = self.fault
        if isinstance(fault, CountedFault):
            past = self.matched - fault.skip
            if past < 1 or (fault.times is not None and past > fault.times):
                return False
        return not isinstance(fault, FailRequests) or self.chooses()

    def chooses(self) -> bool:
        """Return True with the probability of the fault."""
        return bool(self.random.random() < self.fault.chance)

    def decide_for(self, watch: FaultyWatch) -> None:
        """Decide once whether a watch is frozen."""
        if (
            isinstance(self.fault, FreezeWatches)
            and watch.is_selected(self.fault.requests)
            and self.chooses()
        ):
            self.frozen[watch] = False


@dataclass(slots=True)
class FaultInjector:
    """The active faults of one server; they survive its restarts."""

    shared_token: SharedToken
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _rules: list[_Rule] = field(default_factory=list)
    _watches: dict[FaultyWatch, None] = field(default_factory=dict)
    """Open watches in the order of their start, so that a seed chooses the same ones."""
    _struck: Counter[Fault] = field(default_factory=Counter)
    _counted: threading.Condition = field(default_factory=threading.Condition)
    _observers: list[RequestObserver] = field(default_factory=list)

    def now(self) -> float:
        """Return the time of the server."""
        skews = (rule.fault.seconds for rule in _of_type(self._rules, SkewClock))
        return sum(skews, start=self.clock())

    # -- called by the test

    def inject(self, fault: Fault, storage: Storage) -> None:
        """Inject a fault.

        Raises:
            ValueError: no header could carry the token.
        """
        if isinstance(fault, RestartServer):
            raise TypeError("RestartServer is injected through EmbeddedAPIServer.inject")
        if isinstance(fault, ExpireHistory) and fault.every is None:
            storage.expire_history()
            self.count(fault)
        elif isinstance(fault, RotateToken):
            self.shared_token.token = fault.token
            self._close(list(self._watches), abruptly=False)
            self.count(fault)
        elif isinstance(fault, CloseWatches):
            chance = random.Random(fault.seed)
            selected = [watch for watch in self._watches if watch.is_selected(fault.requests)]
            chosen = [watch for watch in selected if chance.random() < fault.chance]
            self._close(chosen, abruptly=fault.abruptly)
            self.count(fault, len(chosen))
        else:
            chance = random.Random(_seed_of(fault))
            rule = _Rule(fault, storage.version, self.elapsed(), chance)
            self._rules.append(rule)
            for watch in self._watches:
                rule.decide_for(watch)

    def _close(self, watches: list[FaultyWatch], *, abruptly: bool) -> None:
        for watch in watches:
            watch.close(abruptly=abruptly)

    def lift(self, fault: Fault | None) -> None:
        """Lift one fault, or all; frozen watches continue."""
        lifted = [rule for rule in self._rules if fault is None or rule.fault == fault]
        self._rules = [rule for rule in self._rules if rule not in lifted]
        for rule in lifted:
            rule.lifted.set()
        for watch in self._watches:
            watch.check_faults()

    def observe(self, observer: RequestObserver) -> None:
        """Call ``observer`` on the event loop for each request that is answered."""
        self._observers.append(observer)

    def active(self) -> list[Fault]:
        """Return the active faults."""
        return [rule.fault for rule in self._rules]

    def let_go(self) -> None:
        """Close the frozen watches, and answer the held requests: the server stops."""
        for watch in list(self._watches):
            watch.close_if_frozen()
        for rule in self._rules:
            rule.lifted.set()

    def struck(self, fault: Fault) -> int:
        """Return the number of strikes of a fault. From any thread."""
        with self._counted:
            return self._struck[fault]

    def wait_until_struck(self, fault: Fault, times: int, timeout: float) -> bool:
        """Wait for a number of strikes; return False after the timeout. From any thread."""
        with self._counted:
            return self._counted.wait_for(lambda: self._struck[fault] >= times, timeout)

    def count(self, fault: Fault, times: int = 1) -> None:
        """Count strikes of a fault. From any thread."""
        with self._counted:
            self._struck[fault] += times
            self._counted.notify_all()

    # -- where a request enters

    async def answer(self, request: Request, storage: Storage, handle: Handler) -> AnyResponse:
        """Answer a request with ``handle`` and the faults that strike it.

        Raises:
            FailedRequestError: the request fails, by a fault or on its own.
        """
        self._expire_history(storage)
        target = ResourceRequest.of(request)
        if target is None:
            return await handle(request)
        code = 500
        try:
            answer = await self._answer(target, handle)
            code = answer.status if isinstance(answer, Response) else 200
        except FailedRequestError as error:
            code = error.code
            raise
        finally:
            for observer in self._observers:
                observer(ObservedRequest.of(target, code))
        return answer

    async def _answer(self, target: ResourceRequest, handle: Handler) -> AnyResponse:
        request = target.request
        if not self._rules:
            answer = await handle(request)
            if isinstance(answer, WatchResponse):
                return FaultyWatch(self, answer, target, behind=[])
            return answer
        rules = self._striking(target, self._rules)
        while holding := [
            rule for rule in _of_type(rules, HoldRequests) if not rule.lifted.is_set()
        ]:
            known = list(self._rules)
            await holding[0].lifted.wait()
            rules += self._striking(target, [rule for rule in self._rules if rule not in known])
        for delay in _of_type(rules, DelayRequests):
            await asyncio.sleep(delay.fault.seconds)
        for failing in _of_type(rules, FailRequests):
            if failing.fault.after_effect:
                with contextlib.suppress(FailedRequestError):  # the response is lost in any case
                    await handle(request)
            raise _failure(failing.fault)
        stale = _of_type(rules, StaleLists)
        if _of_type(rules, ExpireContinueTokens):
            _expire_token(request)
        elif stale and target.verb == "list":
            _show_past(request, stale[0].version)
        elif stale and request.parameter("sendInitialEvents"):
            raise FailedRequestError(
                422, "Invalid", "sendInitialEvents is forbidden on a server that lags"
            )
        answer = await handle(request)
        if isinstance(answer, WatchResponse):
            return FaultyWatch(self, answer, target, behind=[rule.fault for rule in stale])
        cut = _of_type(rules, CutAnswers)
        return CutResponse(answer, cut[0].random) if cut else answer

    def _striking(self, target: ResourceRequest, rules: list[_Rule]) -> list[_Rule]:
        """Return those of the rules that strike a request, and count that they do."""
        striking = [
            rule
            for rule in rules
            if isinstance(rule.fault, _AT_ENTRY)
            and target.is_one_of(rule.fault.requests)
            and _applies(rule.fault, target)
            and rule.strikes()
        ]
        for rule in striking:
            self.count(rule.fault)
        return striking

    def _expire_history(self, storage: Storage) -> None:
        """Clear the history if it is due; between requests no client can see a difference."""
        for rule in _of_type(self._rules, ExpireHistory):
            due = int((self.elapsed() - rule.since) / rule.fault.every)
            if due > rule.expired:
                storage.expire_history()
                self.count(rule.fault)
                rule.expired = due

    # -- where a watch's events leave

    def freezes(self, watch: FaultyWatch) -> bool:
        """Return True if the events of a watch must wait."""
        freezing = [rule for rule in self._rules if watch in rule.frozen]
        for rule in freezing:
            if not rule.frozen[watch]:
                rule.frozen[watch] = True
                self.count(rule.fault)
        return bool(freezing) or any(rule.fault in watch.behind for rule in self._rules)

    def withhold(self, watch: FaultyWatch, lines: bytes) -> bytes:
        """Return the lines without the bookmarks that are withheld."""
        for rule in self._rules:
            if isinstance(rule.fault, WithholdBookmarks) and watch.is_selected(rule.fault.requests):
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
        """Return how the next lines are cut, or None."""
        for rule in self._rules:
            selected = isinstance(rule.fault, CutAnswers) and watch.is_selected(rule.fault.requests)
            if selected and rule.strikes():
                self.count(rule.fault)
                return Cut(rule.random, rule.fault.mid_chunk)
        return None

    def enter(self, watch: FaultyWatch) -> None:
        """Add a watch that begins."""
        self._watches[watch] = None
        for rule in self._rules:
            rule.decide_for(watch)

    def leave(self, watch: FaultyWatch) -> None:
        """Remove a watch that has ended."""
        self._watches.pop(watch, None)


def _seed_of(fault: Fault) -> int:
    if isinstance(fault, FailRequests | CutAnswers | ChoosingFault):
        return fault.seed
    return 0


def _applies(fault: Fault, target: ResourceRequest) -> bool:
    """Return True if a fault can strike a request; other requests are not counted."""
    if isinstance(fault, ExpireContinueTokens):
        return bool(target.request.parameter("continue"))
    if isinstance(fault, StaleLists):
        return target.verb in ("list", "watch") and not target.request.parameter("continue")
    if isinstance(fault, CutAnswers):
        return target.verb != "watch"  # watches are cut when their events are sent
    return True


def _of_type(rules: list[_Rule], kind: type[Fault]) -> list[_Rule]:
    return [rule for rule in rules if isinstance(rule.fault, kind)]


def _failure(fault: FailRequests) -> FailedRequestError:
    reason = _REASONS.get(fault.status) or _words(fault.status)
    details: dict[str, Any] = {}
    headers: tuple[tuple[str, str], ...] = ()
    if fault.retry_after is not None:
        details["retryAfterSeconds"] = fault.retry_after
        headers = (("retry-after", str(fault.retry_after)),)
    return FailedRequestError(
        fault.status, reason, "the request fails by command", details or None, headers
    )


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
