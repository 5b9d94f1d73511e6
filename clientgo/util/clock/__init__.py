"""Time as an argument.

Everything in clientgo that measures, waits or sleeps takes a `Clock`. In production it is
`REAL_CLOCK`; a test passes `clientgo.testing.FakeClock` and moves time itself, so that an hour
of back-off is one `step(3600)` and no test ever sleeps::

    queue = DelayingQueue(clock=clock)        # clock = FakeClock()
    queue.add_after("default/a", 60.0)
    clock.wait_for_waiters(1)                 # the queue's thread now waits for the minute
    clock.step(60.0)                          # ... which has passed
    item, _ = queue.get()
"""

from clientgo.util.clock.clock import REAL_CLOCK, Clock, RealClock, monotonic_ns, nanoseconds

__all__ = ["Clock", "RealClock", "REAL_CLOCK", "monotonic_ns", "nanoseconds"]
