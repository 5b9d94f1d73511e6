"""Exercise 13: a child without an owner.

A Foo has a child. The child does not say whose it is: if it is deleted, no key is enqueued and
nothing repairs it, and if the Foo is deleted, the garbage collector leaves the child.

Change the file so that the child names its owner, and its events lead to the key of the owner.
A child may have no owner, or one of another kind.

Run: clientgo study check 13
"""

from __future__ import annotations

from clientgo.meta import ObjectMeta, ObjectName, get_controller_of, new_controller_ref
from clientgo.tools.study.exercises import Foo


def child_of(foo: Foo) -> Foo:
    """Return the child to create for a Foo: here another Foo, for simplicity."""
    child = Foo(metadata=ObjectMeta(name=f"{foo.metadata.name}-child", namespace="default"))
    child.metadata.owner_references = (new_controller_ref(foo),)
    return child


def owner_of(child: Foo) -> ObjectName | None:
    """Return the key to enqueue for an event of a child, or None."""
    reference = get_controller_of(child)
    if reference is None or reference.kind != "Foo":
        return None
    return ObjectName(child.metadata.namespace or "", reference.name)
