"""A dependent: one kind of object that belongs to a primary, and what it should be.

Differs from Java Operator SDK: one class for Kubernetes objects, with conditions as methods. For
what lives outside of the cluster use ``reconcile``, ``cleanup`` and a ``poll`` source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from clientgo.operator.cache.object_cache import Kind
from clientgo.operator.context import Context

S = TypeVar("S")
P = TypeVar("P")


class Dependent(Generic[S, P]):
    """Subclass it; the class or an instance is what a controller declares. One instance serves all
    workers, so keep no state in it.

        class PageConfig(Dependent[ConfigMap, WebPage]):
            kind = ConfigMap

            def desired(self, ctx, page):
                return ConfigMap(metadata=..., data={"index.html": page.spec.html})

    All objects of its kind that the primary controls are this dependent's: what is not desired is
    deleted. Give ``labels`` where there are others, such as a second dependent of the kind.
    """

    kind: ClassVar[Kind]
    name: ClassVar[str] = ""
    """What messages and errors call it; by default the name of the class."""
    depends_on: ClassVar[Sequence[type[Dependent[Any, Any]]]] = ()
    """Dependents that have to be ready before this one is written."""
    labels: ClassVar[Mapping[str, str]] = {}
    """Its objects have these; objects without them are not its own."""
    owned: ClassVar[bool] = True
    """Whether the primary is the owner, so that the garbage collector deletes what is left. Say
    False for objects in other namespaces. Objects without a namespace, of a primary that has one,
    cannot be owned in any case. Those that are not owned have the primary's name in their
    annotations, and are deleted before the primary goes, for which it gets a finalizer."""
    creates: ClassVar[bool] = True
    updates: ClassVar[bool] = True
    deletes: ClassVar[bool] = True
    """What is done to its objects. What is not deleted is not owned either."""

    def desired(self, ctx: Context[P], primary: P, /) -> S | Mapping[str, S] | None:
        """Return the object as it should be; several, by names for messages; None for none at all.

        A namespace that is left out is that of the primary. Where the cache has only objects with
        certain labels, by ``owns=[watch(kind, labels=...)]`` or a ``CacheScope``, the object needs
        these labels, here or in ``labels`` of the class; without them each run reads the object at
        the API server, and an Event says so.
        """
        raise NotImplementedError

    def matches(self, actual: S, desired: S, /) -> bool | None:
        """Return True if an object is as desired; None leaves that to the framework."""
        return None

    def active(self, ctx: Context[P], primary: P, /) -> bool:
        """Whether there is such a thing at all, on this cluster, say: until it is, the kind is not
        watched, so that it may be missing. What depends on it is not wanted."""
        return True

    def wanted(self, ctx: Context[P], primary: P, /) -> bool:
        """Return False if its objects, and what depends on them, should be deleted."""
        return True

    def ready(self, ctx: Context[P], primary: P, actual: S, /) -> bool:
        """Return True if an object is ready, so that dependents that need it can be written."""
        return True

    def gone(self, ctx: Context[P], primary: P, /) -> bool:
        """When its objects are deleted for a primary that goes: whether what they stand for is gone
        too. Checked every few seconds."""
        return True

    def __str__(self) -> str:
        return self.name or type(self).__name__

    def has(self, method: str) -> bool:
        """Return True if the class overrides a method, by its name."""
        return getattr(type(self), method) is not getattr(Dependent, method)
