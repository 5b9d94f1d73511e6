"""Exercise 12: a status that triggers itself.

The sync writes the status of its Foo, with the time. Each write is an event, the event adds the
key, and the key is synced again: the controller never rests.

Change the file so that a new Foo is synced at most twice, and the status still follows the spec.

Run: clientgo study check 12
"""

from __future__ import annotations

from clientgo.meta import ObjectName, deep_copy
from clientgo.tools.study.exercises import Lab


def sync(lab: Lab, key: ObjectName) -> None:
    """Write into the status how many replicas there are."""
    foo = deep_copy(lab.foos.namespace(key.namespace).get(key.name))
    foo.status.replicas = foo.spec.replicas
    foo.status.synced_at = lab.clock.monotonic()
    lab.update(foo)
