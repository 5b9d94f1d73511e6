"""A project's own kinds: the classes that its modules declare with ``@resource``."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from clientgo.meta import Resource


class NoKindsError(ValueError):
    """A module declares no kind."""


def kinds_in(modules: Iterable[str]) -> list[type[Resource]]:
    """The kinds that modules declare themselves, in their order; what they import is not theirs.

    Imports the modules. Raises ``ImportError`` and :class:`NoKindsError`.
    """
    kinds: list[type[Resource]] = []
    for name in modules:
        module = importlib.import_module(name)
        found = [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, Resource)
            and value.__module__ == name
            and "__resource__" in vars(value)
        ]
        if not found:
            raise NoKindsError(
                f"{name} declares no kind; decorate a class derived from Resource with "
                "@resource(group=..., version=..., plural=...)"
            )
        kinds += found
    return kinds
