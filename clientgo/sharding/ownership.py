"""Which shards this process owns, and what it is doing in them.

Promises: work in a shard begins only while the shard is owned and the membership is safe; a shard
that is given up is free only when the last work in it has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from clientgo.sharding.assignment import shard_of
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import refuse_in_child

K = TypeVar("K", bound=Hashable)

_NEVER: Final = float("-inf")


class ShardsLostError(CopyableError):
    """This process could not renew its Lease in time: another may own its shards now."""


@uncopyable("it has locks; make one in each process")
class Ownership(Generic[K]):
    """What handlers and workers ask before they act on a key. Thread-safe, never blocks.

    ``by`` gives the text of a key that decides about its shard: by default ``str``, so that keys
    spread evenly; ``lambda key: key.namespace`` keeps a namespace together.

    A :class:`~clientgo.sharding.ShardMember` decides what is owned.
    """

    def __init__(
        self, shards: int, by: Callable[[K], str] = str, *, clock: Clock = REAL_CLOCK
    ) -> None:
        if shards < 1:
            raise ValueError(f"there must be at least one shard, not {shards}")
        self.shards = shards
        self._by = by
        self._clock = clock
        self._changed = threading.Condition()
        self._owned: frozenset[int] = frozenset()
        self._draining: frozenset[int] = frozenset()
        self._running: dict[int, int] = {}
        self._safe_until = _NEVER
        self._lapsed_at: float | None = None
        self._on_idle: Callable[[], object] = lambda: None
        refuse_in_child(
            self, "a share of the work", "_changed", advice="let each process be a member"
        )

    @classmethod
    def alone(cls) -> Ownership[K]:
        """Return one that owns every key for ever: for a process that shares with no other."""
        ownership = cls(1)
        ownership.renewed(float("inf"))
        ownership.grant(frozenset({0}))
        return ownership

    # What handlers and workers ask

    def shard_of(self, key: K) -> int:
        """Return the shard of a key."""
        return shard_of(self._by(key), self.shards) if self.shards > 1 else 0

    def owns(self, key: K) -> bool:
        """Return True if events of this key should be queued here."""
        owned = self._owned
        return bool(owned) and self.shard_of(key) in owned

    def begin(self, key: K) -> bool:
        """Return True if work on a key may begin; call :meth:`end` when it has ended.

        False means that the key belongs to another process: forget it here.
        """
        shard = self.shard_of(key)
        with self._changed:
            if shard not in self._owned or self._is_over_locked():
                return False
            self._running[shard] = self._running.get(shard, 0) + 1
            return True

    def end(self, key: K) -> None:
        """Tell that work has ended that :meth:`begin` allowed."""
        shard = self.shard_of(key)
        with self._changed:
            left = self._running[shard] - 1
            if left:
                self._running[shard] = left
            else:
                del self._running[shard]
            idle = not left and shard not in self._owned
            if not self._running:
                self._lapsed_at = None
        if idle:
            self._on_idle()

    def guarded(self, handle: Callable[[K], object]) -> Callable[[K], None]:
        """Return a handler of keys for workers that drops those of other processes."""

        def handle_if_ours(key: K) -> None:
            if self.begin(key):
                try:
                    handle(key)
                finally:
                    self.end(key)

        return handle_if_ours

    def check(self) -> None:
        """Raise :class:`ShardsLostError` if nothing may be written any more.

        To be called before a write. It looks at the clock, so it holds in a thread that was
        suspended.
        """
        with self._changed:
            over = self._is_over_locked() or self._lapsed_at is not None
        if over:
            raise ShardsLostError(
                "this process could not renew its Lease in time: nothing is written, another "
                "process may own its shards"
            )

    @property
    def owned(self) -> frozenset[int]:
        """The shards in which work may begin."""
        return self._owned

    # What the member tells

    def on_idle(self, call: Callable[[], object]) -> None:
        """Call this when the last work has ended in a shard that is given up."""
        self._on_idle = call

    def renewed(self, safe_until: float) -> bool:
        """The membership was renewed. Return False if it had ended before: nothing is owned."""
        with self._changed:
            lapsed = self._expire_locked()
            self._safe_until = safe_until
            return not lapsed

    def expire(self) -> bool:
        """Own nothing any more if the membership has ended; return True if something was owned."""
        with self._changed:
            return self._expire_locked()

    @property
    def lapsed_at(self) -> float | None:
        """When the membership ended during which the work began that still runs, if it did."""
        with self._changed:
            return self._lapsed_at

    def grant(self, shards: frozenset[int]) -> None:
        """Own these shards too, or again."""
        with self._changed:
            self._owned |= shards
            self._draining -= shards

    def drain(self, shards: frozenset[int]) -> frozenset[int]:
        """Begin no more work in these; return those of them where no work runs."""
        with self._changed:
            self._draining |= shards & self._owned
            self._owned -= shards
            return shards - self._running.keys()

    def drop(self, shards: frozenset[int]) -> None:
        """These are given up."""
        with self._changed:
            self._owned -= shards
            self._draining -= shards

    def lose(self, shards: frozenset[int]) -> None:
        """Another process has taken these, though they were not given up."""
        with self._changed:
            self._owned -= shards
            self._draining -= shards
            if self._lapsed_at is None and not shards.isdisjoint(self._running):
                self._lapsed_at = min(self._safe_until, self._clock.monotonic())

    def held(self) -> frozenset[int]:
        """The shards that are owned or being given up."""
        with self._changed:
            return self._owned | self._draining

    def busy(self) -> frozenset[int]:
        """The shards in which work runs, owned or not."""
        with self._changed:
            return frozenset(self._running)

    def _expire_locked(self) -> bool:
        if not (self._owned or self._draining) or not self._is_over_locked():
            return False
        self._owned = self._draining = frozenset()
        if self._running and self._lapsed_at is None:
            self._lapsed_at = self._safe_until
        return True

    def _is_over_locked(self) -> bool:
        return self._clock.monotonic() >= self._safe_until
