"""Leadership as the guarded work sees it.

Promises: :attr:`Leadership.stop` is set, and :meth:`Leadership.check` raises, before another
candidate can lead, under the assumptions on clocks that :class:`Timing` states.

Does not help a process that is suspended between a check and its write. Send `transitions` with
what must not be done twice, and let the receiver refuse a number below the highest that it has seen
(a fencing token).

In client-go the work gets a context, which is cancelled when its goroutine runs, and no token.
"""

from __future__ import annotations

import threading

from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import refuse_in_child


class LeadershipLostError(CopyableError):
    """This process does not lead any more: another may act."""


@uncopyable("it has locks; make one in each process")
class Leadership:
    """One term as leader; handed to ``on_started_leading``. Thread-safe, never blocks.

    ``stop`` is set when the work has to end, for whatever reason; pass it on to everything that
    blocks. ``transitions`` grows with every change of leader: it is the fencing token.
    """

    __slots__ = (
        "__weakref__",
        "_clock",
        "_lock",
        "_safe_until",
        "identity",
        "stop",
        "transitions",
    )

    def __init__(self, identity: str, transitions: int, safe_until: float, clock: Clock) -> None:
        self.identity = identity
        self.transitions = transitions
        self.stop = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        self._safe_until = safe_until
        refuse_in_child(
            self,
            f"the leadership of {identity}",
            "_lock",
            advice="let the process act that was elected, or elect in the child",
        )

    @property
    def safe_until(self) -> float:
        """The instant of the clock up to which this term lasts, unless it is renewed."""
        with self._lock:
            return self._safe_until

    def remaining(self) -> float:
        """For how many seconds the work may certainly act; 0 once it must not."""
        if self.stop.is_set():
            return 0.0
        left_ns = nanoseconds(self.safe_until) - nanoseconds(self._clock.monotonic())
        return max(left_ns, 0) / 1e9

    def check(self) -> None:
        """Raise :class:`LeadershipLostError` if the work must not act any more.

        To be called before each action that only a leader may take. It looks at the clock, so it
        holds in a thread that was suspended and has not been told to stop yet.
        """
        if self.remaining() <= 0:
            raise LeadershipLostError(
                f"{self.identity} does not lead any more; stop, another leader may be at work"
            )

    def extend(self, safe_until: float) -> None:
        """The lease was renewed: the work may act until then."""
        with self._lock:
            self._safe_until = safe_until
