"""What every part of clientgo needs from the process that it runs in.

`SupervisedThread` is a thread that cannot end by an exception without a log line and a count.
"""

from clientgo.process.threads import SupervisedThread

__all__ = ["SupervisedThread"]
