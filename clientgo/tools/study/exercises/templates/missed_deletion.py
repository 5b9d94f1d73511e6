"""Exercise 5: a deletion that no watch saw.

The Foo is deleted while the watch is down. The next list does not have it, so the informer knows
that it is gone, but not its last state: ``on_delete`` is called with a tombstone.

Change the file so that the key is enqueued anyway.

Run: clientgo study check 5
"""

from __future__ import annotations

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.meta import ObjectName
from clientgo.tools.study.exercises import Foo, Lab


def connect(lab: Lab) -> None:
    """Register the handlers. Called before the informer starts."""

    def on_delete(foo: Foo | DeletedFinalStateUnknown) -> None:
        lab.queue.add(ObjectName.of(foo))

    lab.informer.add_event_handler(on_delete=on_delete)
