"""Exercise 4: a cached object is changed.

This sync writes one replica more than the Foo asks for. It works, and it damages the cache for
every other reader: the object that a lister returns is shared. The mutation detector finds it.

Change the file so that the cache stays as it is.

Run: clientgo study check 4
"""

from __future__ import annotations

from clientgo.meta import deep_copy
from clientgo.tools.study.exercises import Lab


def sync(lab: Lab, name: str) -> None:
    """Write one replica more than the Foo asks for."""
    foo = deep_copy(lab.foos.namespace("default").get(name))
    foo.spec.replicas += 1
    lab.write(name, foo.spec.replicas)
