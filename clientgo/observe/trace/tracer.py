"""What a tracer is."""

from __future__ import annotations

from clientgo.observe.trace.hops import Hop


class Tracer:
    """Sees every hop. Override the methods that you need.

    `hop` is called in a thread of the trace, one call at a time and with no lock held: the program
    does not wait for it. `before` is called by the threads of the components, several at a time.
    What a method raises is counted, and logged the first time; the program goes on.
    """

    def began(self, unix_time: float) -> None:
        """The trace begins; `Hop.at` counts from this moment."""

    def hop(self, hop: Hop) -> None:
        """Something happened. Hops come in the order of what happened."""

    def before(self, boundary: str, of: str, key: str) -> None:
        """A component is about to do something; it waits, without a lock, until this returns.

        `boundary` is ``watch.read`` (pass on the events of a watch), ``fifo.take`` (take changes
        into the cache), ``queue.take`` (hand out the next key) or ``sync``. `key` is empty where it
        is not known yet. Only a tracer that overrides this is asked.
        """

    def ended(self) -> None:
        """The trace has ended: no hop follows. A tracer lets go of the threads that it holds.

        Called in the thread that ended the trace.
        """
