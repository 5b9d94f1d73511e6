"""A member of a group that shares the work: it renews its Lease, takes shards and gives them up.

Promises: a shard has one owner at most, if no clock runs faster than another by more than the
margin of :class:`~clientgo.leaderelection.Timing`; a shard is given up when the last work in it has
ended; the shards of a member that is gone are taken one lease duration after its last sign of life.

A shard is taken only by a write that is based on the version of the holders which was read, so of
two members one succeeds. Whether another member lives is judged by our own clock since we saw its
Lease change, in consistent reads. A member that could not renew in time owns nothing any more
before others may take its shards; it takes shards again only by such a write.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

from clientgo.leaderelection import USUAL_TIMING, Timing, WorkStillRunningError
from clientgo.meta import AlreadyExistsError, ConflictError
from clientgo.sharding.assignment import NO_HOLDER, plan
from clientgo.sharding.ownership import K, Ownership
from clientgo.sharding.shard_leases import Group, Leases, ShardLeases
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.wait import call_when_set

_RENEWALS: Final = 3
"""So many times a lease duration the Lease is renewed."""

_REMOVED_AFTER: Final = 10
"""After so many lease durations the Lease of a dead member is removed."""

_log = logging.getLogger("clientgo.sharding")


class ShardCountError(CopyableError):
    """Other members of the group work with another number of shards."""


def member_identity() -> str:
    """Return an identity that no other member has, and that the name of a Lease may contain."""
    host = "".join(c if c.isascii() and c.isalnum() else "-" for c in socket.gethostname().lower())
    return f"{host[:40].strip('-')}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


@uncopyable("it has threads; make one in each process")
class ShardMember(Generic[K]):
    """One process of a group.

    ``on_acquired`` is called with shards that are owned from now on, in the thread of :meth:`run`:
    queue every key of them. ``on_released`` is called with those that are not owned any more.
    ``before_work`` is called when shards were taken and no work has begun in them, as to wait for
    what their last owner wrote; the Lease is not renewed meanwhile, so it may take
    ``timing.request_timeout`` seconds at most.
    """

    def __init__(
        self,
        leases: Leases,
        ownership: Ownership[K],
        *,
        on_acquired: Callable[[frozenset[int]], object],
        on_released: Callable[[frozenset[int]], object] = lambda _shards: None,
        before_work: Callable[[], object] = lambda: None,
        identity: str = "",
        name: str = "shards",
        timing: Timing = USUAL_TIMING,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.identity = identity or member_identity()
        self.ownership = ownership
        self._leases = leases
        self._on_acquired = on_acquired
        self._on_released = on_released
        self._before_work = before_work
        self._name = name
        self._timing = timing
        self._clock = clock
        self._renewed_at: float | None = None
        self._seen: dict[str, tuple[str, float]] = {}
        """The version of each Lease, and when we saw it first; empty for one that is missing."""
        self._failed = ""
        self._gained: frozenset[int] = frozenset()
        self._wake = threading.Condition()
        self._woken = False
        ownership.on_idle(self._notify)

    def run(self, stop: threading.Event) -> None:
        """Share the work until ``stop`` is set; then give up all shards and leave the group.

        Blocks; returns when the work in the shards has ended. Raises
        :class:`~clientgo.leaderelection.WorkStillRunningError` if work goes on after the Lease has
        ended: end the process then, because another one may start the same work. Raises what
        ``on_acquired`` raises.
        """
        registration = call_when_set(stop, self._notify)
        try:
            while not self.step(leaving=stop.is_set()):
                self._pause()
        finally:
            registration.cancel()
            self._leases.close()

    def step(self, *, leaving: bool = False) -> bool:
        """Look at the group once, and act. Return True when this member has left it.

        :meth:`run` calls it every ``retry_period``, and when work has ended that was waited for.
        """
        self._expire()
        if leaving:
            self._drain(self.ownership.owned)
        left = self._try_to_act(leaving=leaving)
        gained, self._gained = self._gained, frozenset()
        if gained:
            self._on_acquired(gained)
        return left

    def _try_to_act(self, *, leaving: bool) -> bool:
        try:
            if self._renewed_at is None:
                self._check_before_joining()
            self._renew_if_due()
            left = self._take_part(self._leases.read(), leaving=leaving)
        except (ConflictError, AlreadyExistsError) as error:
            _log.debug("%s: %s: another member was faster", self._name, error)
            self._notify()
            return False
        except Exception as error:  # noqa: BLE001 - any request may fail; we try again
            if isinstance(error, ShardCountError):
                self._renewed_at = None  # we have not joined, and the others must not wait for us
            self._report_failure(error)
            # What cannot be given up is free when the Lease has ended.
            return leaving and not self.ownership.busy()
        if self._failed:
            self._failed = ""
            _log.info("%s: the Leases can be read and written again", self._name)
        return left

    # Our own Lease

    def _check_before_joining(self) -> None:
        """Raise :class:`ShardCountError` before a Lease of ours makes others leave shards to us."""
        group = self._leases.read()
        self._observe(group)
        self._checked(group.holders)

    def _renew_if_due(self) -> None:
        sent = self._clock.monotonic()
        period = self._timing.lease_duration / _RENEWALS
        if self._renewed_at is not None and sent < self._renewed_at + period:
            return
        self._leases.renew(self.identity)
        self._renewed_at = sent
        if not self.ownership.renewed(sent + self._timing.safe_period):
            self._lapse()

    def _expire(self) -> None:
        if self.ownership.expire():
            self._lapse()
        lapsed_at = self.ownership.lapsed_at
        if lapsed_at is None or self._clock.monotonic() < lapsed_at + self._timing.stop_margin:
            return
        raise WorkStillRunningError(
            f"{self._name}: the Lease of {self.identity} has ended, but work in the shards "
            f"{_numbers(self.ownership.busy())} goes on; another process may do it too: end this "
            "one"
        )

    def _lapse(self) -> None:
        _log.warning(
            "%s: %s could not renew its Lease in %g s: it owns no shard until it can",
            self._name,
            self.identity,
            self._timing.safe_period,
        )
        self._on_released(frozenset(range(self.ownership.shards)))

    # The shards

    def _take_part(self, group: Group, *, leaving: bool) -> bool:
        self._observe(group)
        me, held = self.identity, self.ownership.held()
        holders = self._checked(group.holders)
        living = {name for name in group.members if self._lives(name)}
        wanted = plan(holders, living - {me} if leaving else living | {me})
        ours = _shards_of(me, holders)
        should = _shards_of(me, wanted)

        lost = held - ours
        if lost:
            # Given up by a write whose answer did not arrive, or changed by hand.
            self.ownership.lose(lost)
            self._on_released(lost)
        idle = self._drain(ours - should)
        kept = should & ours & held
        busy = self.ownership.busy()
        claimed = frozenset(
            shard for shard in should - kept - busy if self._may_take(holders[shard])
        )
        if idle or claimed:
            self._write(group, holders, idle, claimed)
        # Those that were to be given up a moment ago are listed again too: keys were dropped.
        gained = claimed | (kept - self.ownership.owned)
        if gained:
            self._before_work()
        self.ownership.grant(gained)
        self._gained = gained
        self._remove_dead(group)
        if leaving and not self.ownership.held() and not self.ownership.busy():
            self._leases.remove(me)
            return True
        return False

    def _drain(self, shards: frozenset[int]) -> frozenset[int]:
        """Give up shards; return those in which no work runs any more."""
        released = shards & self.ownership.owned
        idle = self.ownership.drain(shards)
        if released:
            self._on_released(released)
        return idle

    def _write(
        self,
        group: Group,
        holders: tuple[str, ...],
        idle: frozenset[int],
        claimed: frozenset[int],
    ) -> None:
        changes = {**dict.fromkeys(idle, NO_HOLDER), **dict.fromkeys(claimed, self.identity)}
        changed = (changes.get(shard, holder) for shard, holder in enumerate(holders))
        self._leases.write(group, tuple(changed))
        self.ownership.drop(idle)
        _log.info(
            "%s: %s took %s and gave up %s",
            self._name,
            self.identity,
            f"the shards {_numbers(claimed)}" if claimed else "no shards",
            _numbers(idle),
        )

    def _checked(self, holders: tuple[str, ...]) -> tuple[str, ...]:
        """Return the holders, all without a holder for a new group or another number of shards."""
        shards = self.ownership.shards
        if len(holders) == shards:
            return holders
        held_by = {name for name in holders if name != NO_HOLDER and self._lives(name)}
        if held_by - {self.identity}:
            raise ShardCountError(
                f"the group has {len(holders)} shards, not {shards}; stop its other members "
                f"({', '.join(sorted(held_by))}) to change the number"
            )
        return (NO_HOLDER,) * shards

    def _observe(self, group: Group) -> None:
        """Note which Leases have changed; a holder without a Lease counts as one that changed."""
        now = self._clock.monotonic()
        known = {**dict.fromkeys(group.holders, ""), **group.members}
        known.pop(NO_HOLDER, None)
        for name, version in known.items():
            if name not in self._seen or self._seen[name][0] != version:
                self._seen[name] = (version, now)
        for name in self._seen.keys() - known.keys():
            del self._seen[name]

    def _age(self, name: str) -> float:
        return self._clock.monotonic() - self._seen[name][1] if name in self._seen else 0.0

    def _lives(self, name: str) -> bool:
        return self._age(name) < self._timing.lease_seconds

    def _may_take(self, holder: str) -> bool:
        return holder in (NO_HOLDER, self.identity) or not self._lives(holder)

    def _remove_dead(self, group: Group) -> None:
        for name, version in group.members.items():
            old = self._age(name) > _REMOVED_AFTER * self._timing.lease_seconds
            if old and name not in group.holders:
                self._leases.remove(name, version)

    # Waiting

    def _notify(self) -> None:
        with self._wake:
            self._woken = True
            self._wake.notify_all()

    def _pause(self) -> None:
        deadline = self._clock.monotonic() + self._timing.retry_period
        with self._wake:
            while not self._woken and self._clock.monotonic() < deadline:
                self._clock.wait_until(self._wake, deadline)
            self._woken = False

    def _report_failure(self, error: Exception) -> None:
        failure = f"{type(error).__name__}: {error}"
        level = logging.DEBUG if failure == self._failed else logging.WARNING
        self._failed = failure
        _log.log(level, "%s: %s: %s; trying again", self._name, self.identity, failure)


def shard_member(
    config: Any,
    namespace: str,
    name: str,
    ownership: Ownership[K],
    *,
    on_acquired: Callable[[frozenset[int]], object],
    on_released: Callable[[frozenset[int]], object] = lambda _shards: None,
    before_work: Callable[[], object] = lambda: None,
    identity: str = "",
    timing: Timing = USUAL_TIMING,
    clock: Clock = REAL_CLOCK,
) -> ShardMember[K]:
    """Return a member with Leases in a namespace, named after the group.

    ``config`` is what :class:`~clientgo.client.Client` takes. Raises
    :class:`~clientgo.rest.ConfigError`.
    """
    return ShardMember(
        ShardLeases(config, namespace, name, timing, clock=clock),
        ownership,
        on_acquired=on_acquired,
        on_released=on_released,
        before_work=before_work,
        identity=identity,
        name=name,
        timing=timing,
        clock=clock,
    )


def _shards_of(member: str, holders: Sequence[str]) -> frozenset[int]:
    return frozenset(shard for shard, holder in enumerate(holders) if holder == member)


def _numbers(shards: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(shards))) or "none"
