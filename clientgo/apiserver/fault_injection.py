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
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from clientgo.apiserver.cluster import Cluster
from clientgo.apiserver.faults import (
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    Requests,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.apiserver.http import Answer, Message, Receive, Request, Send
from clientgo.apiserver.listing import ContinueToken
from clientgo.apiserver.request_info import parse_path
from clientgo.apiserver.status_errors import StatusError
from clientgo.apiserver.storage import decode
from clientgo.apiserver.watching import WatchStream

Handler = Callable[[Request], Awaitable[Answer]]
F = TypeVar("F", bound=Fault)

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

_BOOKMARK = b'{"type":"BOOKMARK"'
_INITIAL_EVENTS_END = b"k8s.io/initial-events-end"

_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


@dataclass(slots=True, eq=False)
class _Rule:
    """A fault that holds, and how far it has come."""

    fault: Any
    version: int
    """The storage's, when the fault was injected."""
    random: random.Random
    matched: int = 0

    def strikes(self) -> bool:
        """Count a request that matches; whether it is one of those that are struck."""
        self.matched += 1
        fault = self.fault
        if hasattr(fault, "times"):
            past = self.matched - fault.skip
            if past < 1 or (fault.times is not None and past > fault.times):
                return False
        return not isinstance(fault, FailRequests) or self.random.random() < fault.chance


@dataclass(slots=True)
class FaultInjector:
    """The faults that hold on one server; they outlive its restarts."""

    _rules: list[_Rule] = field(default_factory=list)
    _watches: set[_FaultyWatch] = field(default_factory=set)
    _struck: Counter[Fault] = field(default_factory=Counter)
    _striking: threading.Condition = field(default_factory=threading.Condition)

    # -- told by the test

    def inject(self, fault: Fault, cluster: Cluster) -> None:
        """Let a fault happen: at once, or from now on."""
        if isinstance(fault, ExpireHistory):
            cluster.storage.expire_history()
            self._count(fault)
        elif isinstance(fault, CloseWatches):
            for watch in [item for item in self._watches if item.concerns(fault.requests)]:
                watch.close(abruptly=fault.abruptly)
                self._count(fault)
        else:
            seed = fault.seed if isinstance(fault, FailRequests | CutAnswers) else 0
            self._rules.append(_Rule(fault, cluster.storage.version, random.Random(seed)))

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

    def _count(self, fault: Fault) -> None:
        with self._striking:
            self._struck[fault] += 1
            self._striking.notify_all()

    # -- where a request enters

    async def answer(self, request: Request, handle: Handler) -> Answer:
        """Let ``handle`` answer a request, with what is to go wrong.

        Raises:
            StatusError: the request fails, by a fault or on its own.
        """
        asked = _Asked.of(request)
        if asked is None:
            return await handle(request)
        rules = [
            rule
            for rule in self._rules
            if not _is_live(rule.fault, asked)
            and asked.is_one_of(rule.fault.requests)
            and _applies(rule.fault, asked)
            and rule.strikes()
        ]
        for rule in rules:
            self._count(rule.fault)
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
            return _FaultyWatch(self, answer, asked, behind=[rule.fault for rule in stale])
        cut = _of_type(rules, CutAnswers)
        return _CutAnswer(answer, cut[0].random) if cut else answer

    # -- where a watch's events leave

    def freezes(self, watch: _FaultyWatch) -> bool:
        """Whether a watch is to be told nothing now."""
        return any(
            rule.fault in watch.behind
            or (isinstance(rule.fault, FreezeWatches) and watch.concerns(rule.fault.requests))
            for rule in self._rules
        )

    def withhold(self, watch: _FaultyWatch, lines: bytes) -> bytes:
        """The lines without the bookmarks that are not to be sent."""
        for rule in self._rules:
            if isinstance(rule.fault, WithholdBookmarks) and watch.concerns(rule.fault.requests):
                kept = [
                    line
                    for line in lines.splitlines(keepends=True)
                    if not _is_withheld(line, initial_only=rule.fault.initial_only)
                ]
                if sum(map(len, kept)) < len(lines):
                    self._count(rule.fault)
                lines = b"".join(kept)
        return lines

    def cut(self, watch: _FaultyWatch) -> random.Random | None:
        """What chooses where these lines are cut; None if they are not."""
        for rule in self._rules:
            concerned = isinstance(rule.fault, CutAnswers) and watch.concerns(rule.fault.requests)
            if concerned and rule.strikes():
                self._count(rule.fault)
                return rule.random
        return None

    def enter(self, watch: _FaultyWatch) -> None:
        """A watch has begun."""
        self._watches.add(watch)

    def leave(self, watch: _FaultyWatch) -> None:
        """A watch has ended."""
        self._watches.discard(watch)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request is about, in the words of :class:`Requests`."""

    verb: str
    resource: str
    namespace: str
    name: str
    request: Request

    @classmethod
    def of(cls, request: Request) -> _Asked | None:
        info = parse_path(request.path)
        if info is None:
            return None
        if info.subresource and request.method == "POST":
            verb = "create"
        else:
            verbs = _OBJECT_VERBS if info.name else _COLLECTION_VERBS
            verb = verbs.get(request.method, "")
        if verb == "list" and request.flag("watch"):
            verb = "watch"
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return cls(verb, resource, info.namespace, info.name, request)

    def is_one_of(self, wanted: Requests) -> bool:
        return (
            (not wanted.verbs or self.verb in wanted.verbs)
            and wanted.resource in ("", self.resource)
            and wanted.namespace in ("", self.namespace)
            and (not wanted.name or wanted.name == (self.name or self._name_in_body()))
            and self.request.headers.get("user-agent", "").startswith(wanted.user_agent)
        )

    def _name_in_body(self) -> str:
        """The name of what is created, which the path does not have."""
        if self.verb != "create":
            return ""
        try:
            return str(decode(self.request.body)["metadata"]["name"])
        except (msgspec.DecodeError, KeyError, TypeError):
            return ""  # generated, or a body that will be refused


class _CutAnswer:
    """An answer that breaks off in its body."""

    def __init__(self, answer: Answer, chance: random.Random) -> None:
        self.headers = answer.headers
        self._answer = answer
        self._random = chance

    async def send(self, send: Send, receive: Receive) -> None:
        async def cut(message: Message) -> None:
            if body := message.get("body"):
                message = {**message, "body": _beginning(body, self._random), "more_body": True}
            await send(message)  # an answer that never ends makes the HTTP server hang up

        await self._answer.send(cut, receive)


class _FaultyWatch:
    """A watch whose events pass the faults on their way out."""

    def __init__(
        self,
        injector: FaultInjector,
        stream: WatchStream,
        asked: _Asked,
        behind: list[Fault],
    ) -> None:
        self.headers = stream.headers
        self.behind = behind
        """Faults that held when the watch began, and leave it behind until they are lifted."""
        self._injector = injector
        self._stream = stream
        self._asked = asked
        self._frozen = False
        self._news = asyncio.Event()

    def concerns(self, wanted: Requests) -> bool:
        return self._asked.is_one_of(wanted)

    def close(self, *, abruptly: bool) -> None:
        if abruptly:
            self._stream.drop()
        else:
            self._stream.end()
            self.hang_up()

    def look_again(self) -> None:
        """The faults have changed."""
        self._news.set()

    def hang_up(self) -> None:
        """End the watch if it is frozen; there is nobody to thaw it for."""
        if self._frozen:
            self._stream.drop()

    async def send(self, send: Send, receive: Receive) -> None:
        async def pass_on(message: Message) -> None:
            if body := message.get("body"):
                await self._thaw()
                body = self._injector.withhold(self, body)
                chance = self._injector.cut(self) if body else None
                if chance is not None:
                    await send({**message, "body": _beginning(body, chance)})
                    self._stream.drop()
                    await asyncio.sleep(0)  # where the watch is cancelled
                message = {**message, "body": body}
            await send(message)

        async def listen() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.hang_up()
            return message

        self._injector.enter(self)
        try:
            await self._stream.send(pass_on, listen)
        finally:
            self._injector.leave(self)

    async def _thaw(self) -> None:
        while self._injector.freezes(self):
            self._frozen = True
            self._news.clear()
            await self._news.wait()
        self._frozen = False


def _is_live(fault: Fault, asked: _Asked) -> bool:
    """Whether a fault is looked at as events leave, not as the request enters."""
    return isinstance(fault, FreezeWatches | WithholdBookmarks) or (
        isinstance(fault, CutAnswers) and asked.verb == "watch"
    )


def _applies(fault: Fault, asked: _Asked) -> bool:
    """Whether a fault can happen to a request; others are not counted."""
    if isinstance(fault, ExpireContinueTokens):
        return bool(asked.request.parameter("continue"))
    if isinstance(fault, StaleLists):
        return asked.verb in ("list", "watch") and not asked.request.parameter("continue")
    return True


def _of_type(rules: list[_Rule], kind: type[F]) -> list[_Rule]:
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


def _beginning(body: bytes, chance: random.Random) -> bytes:
    """A part of a body, up to the middle of its last line."""
    start = body.rfind(b"\n", 0, len(body) - 1) + 1
    return body[: chance.randrange(start + 1, max(start + 2, len(body) - 1))]
