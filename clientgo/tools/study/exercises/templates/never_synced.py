"""Exercise 10: an informer that is never synced.

When the program starts it deletes what belongs to no Foo. It does not ask whether its cache has
synced: if the first list is late, or refused, the cache is empty, and everything is deleted.

Change the file so that nothing is deleted before the cache has synced. ``lab.written`` has the
names of the Foos that something was written for; ``lab.remove(name)`` deletes it.

Run: clientgo study check 10
"""

from __future__ import annotations

import threading

from clientgo.tools.study.exercises import Lab


def prune(lab: Lab, stop: threading.Event) -> None:
    """Delete what has no Foo. Called when the informer has been started, in a thread."""
    for name in list(lab.written):
        if lab.foos.namespace("default").find(name) is None:
            lab.remove(name)
