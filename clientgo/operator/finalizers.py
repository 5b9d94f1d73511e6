"""Finalizers: the object stays until its clean-up is done.

Promises that each of several finalizers is removed when its own clean-up is done.

Source: controller-runtime controllerutil, pkg/finalizer; Java Operator SDK (finalizer names).
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection
from typing import Any, Final, Generic, TypeVar

from clientgo.meta import APIResource, metadata_of
from clientgo.operator.context import Context
from clientgo.operator.errors import DeclarationError

P = TypeVar("P")

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class Finalizers(Generic[P]):
    """Several finalizers of one reconciler, which has it as its attribute ``finalizers``.

    ::

        class FooReconciler:
            def __init__(self) -> None:
                self.finalizers = Finalizers[Foo]()
                self.finalizers.register("example.com/records", self.remove_records)
                self.finalizers.register("example.com/bucket", self.remove_bucket)

    Each is called as ``clean_up(ctx, obj)`` while its finalizer is on an object that is being
    deleted, and raises if it is not done; it may be ``async def``. All are registered before the
    controller is built.
    """

    def __init__(self) -> None:
        self._clean_ups: dict[str, Callable[[Context[P], P], object]] = {}

    def register(self, name: str, clean_up: Callable[[Context[P], P], object]) -> None:
        """Raises ``DeclarationError`` for a name that is bad, or registered."""
        if checked_finalizer(name) in self._clean_ups:
            raise DeclarationError(f"finalizer {name!r} is registered already; use another name")
        self._clean_ups[name] = clean_up

    def names(self) -> tuple[str, ...]:
        return tuple(self._clean_ups)

    @property
    def is_async(self) -> bool:
        """True if a clean-up is a coroutine."""
        return any(map(inspect.iscoroutinefunction, self._clean_ups.values()))

    def clean_up(self, name: str, ctx: Context[P], obj: P) -> object:
        return self._clean_ups[name](ctx, obj)


def default_finalizer(primary: APIResource) -> str:
    """Return the default finalizer for controllers of this kind."""
    return f"{primary.plural}.{primary.group or 'core.clientgo'}/finalizer"


def abandoned_finalizers(primary: APIResource, obj: Any, removed: Collection[str]) -> list[str]:
    """Return the finalizers of an object that an earlier release of the operator has set: those of
    the kind's own domain, as the default one, that are none of ``removed``."""
    domain = default_finalizer(primary).partition("/")[0]
    return [
        name
        for name in metadata_of(obj).finalizers or ()
        if name.partition("/")[0] == domain and name not in removed
    ]


def way_out(primary: APIResource, obj: Any, names: Collection[str]) -> str:
    """Return what a user can do about finalizers of an object that nothing removes."""
    metadata = metadata_of(obj)
    left = [name for name in metadata.finalizers or () if name not in names]
    where = f" -n {metadata.namespace}" if metadata.namespace else ""
    patch = json.dumps({"metadata": {"finalizers": left}}, separators=(",", ":"))
    return (
        "do what its clean-up would do, and remove it: kubectl patch "
        f"{primary.group_resource} {metadata.name}{where} --type=merge -p '{patch}'"
    )


def checked_finalizer(name: str, controller: str = "") -> str:
    """Return the name itself. Raises ``DeclarationError`` for a bad one."""
    domain, slash, short = name.partition("/")
    if slash and len(domain) <= 253 and _SUBDOMAIN.fullmatch(domain) and _NAME.fullmatch(short):
        return name
    where = f"controller {controller}: " if controller else ""
    raise DeclarationError(
        f"{where}{name!r} is no finalizer; write it as <domain>/<name>, as in example.com/cleanup"
    )


def has_finalizer(obj: Any, name: str) -> bool:
    """Return True if an object has a finalizer."""
    return name in (metadata_of(obj).finalizers or ())


def add_finalizer(obj: Any, name: str) -> bool:
    """Add a finalizer to an object about to be written; return True if it was missing."""
    if has_finalizer(obj, name):
        return False
    metadata = metadata_of(obj)
    metadata.finalizers = (*metadata.finalizers, name)
    return True


def remove_finalizer(obj: Any, name: str) -> bool:
    """Remove a finalizer from an object about to be written; return True if it was there."""
    if not has_finalizer(obj, name):
        return False
    metadata = metadata_of(obj)
    metadata.finalizers = tuple(finalizer for finalizer in metadata.finalizers if finalizer != name)
    return True
