"""Exercise 2: a handler that acts.

For each Foo the server should have as many replicas as the Foo asks for. This handler writes them
itself. The first write is refused (the server answers 500), and nothing ever repairs it.

Change the file so that the handler only enqueues a key, and ``sync`` does the work.
``lab.queue.add(key)`` takes an ObjectName; ``lab.foos`` is the lister; a sync that raises is tried
again.

Run: clientgo study check 2
"""

from __future__ import annotations

from clientgo.meta import ObjectName
from clientgo.tools.study.exercises import Foo, Lab


def connect(lab: Lab) -> None:
    """Register the handlers. Called before the informer starts."""

    def enqueue(foo: Foo) -> None:
        lab.queue.add(ObjectName.of(foo))

    lab.informer.add_event_handler(on_add=enqueue, on_update=lambda _, new: enqueue(new))


def sync(lab: Lab, key: ObjectName) -> None:
    """Do the work for one key. Called by the worker for each key of the queue."""
    foo = lab.foos.namespace(key.namespace).get(key.name)
    lab.write(foo.metadata.name, foo.spec.replicas)
