"""Finalizers: the object stays until its clean-up is done.

Promises helpers that say whether they changed anything; names that the API server accepts.

Source: controller-runtime pkg/controller/controllerutil; Java Operator SDK (finalizer names).
"""

from __future__ import annotations

import re
from typing import Any, Final

from clientgo.meta import APIResource, metadata_of
from clientgo.operator.errors import DeclarationError

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def default_finalizer(primary: APIResource) -> str:
    """The name that a controller of this kind uses unless told otherwise."""
    return f"{primary.plural}.{primary.group or 'core.clientgo'}/finalizer"


def checked_finalizer(name: str, controller: str) -> str:
    """The name itself. Raises :class:`~clientgo.operator.errors.DeclarationError` for a bad one."""
    domain, slash, short = name.partition("/")
    if slash and len(domain) <= 253 and _SUBDOMAIN.fullmatch(domain) and _NAME.fullmatch(short):
        return name
    raise DeclarationError(
        f"controller {controller}: {name!r} is no finalizer; write it as "
        "<domain>/<name>, as in example.com/cleanup"
    )


def has_finalizer(obj: Any, name: str) -> bool:
    """Tell whether an object has a finalizer."""
    return name in (metadata_of(obj).finalizers or ())


def add_finalizer(obj: Any, name: str) -> bool:
    """Add a finalizer to an object about to be written; tell whether it was missing."""
    if has_finalizer(obj, name):
        return False
    metadata = metadata_of(obj)
    metadata.finalizers = (*metadata.finalizers, name)
    return True


def remove_finalizer(obj: Any, name: str) -> bool:
    """Take a finalizer from an object about to be written; tell whether it was there."""
    if not has_finalizer(obj, name):
        return False
    metadata = metadata_of(obj)
    metadata.finalizers = tuple(finalizer for finalizer in metadata.finalizers if finalizer != name)
    return True
