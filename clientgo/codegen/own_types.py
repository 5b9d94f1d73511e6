"""A project's own kinds: the classes that its modules declare with ``@resource``."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from clientgo.meta import Resource
from clientgo.util.copies import CopyableError


class NoKindsError(CopyableError, ValueError):
    """A module declares no kind."""


class ProjectImportError(CopyableError, ImportError):
    """A module of a project cannot be imported; the message is one line with the place."""


def import_project_module(name: str) -> ModuleType:
    """Import a module of a project. Raises :class:`ProjectImportError` whatever goes wrong."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ProjectImportError(
            f"{name} cannot be imported: "
            f"{type(error).__name__}: {_text_of(error)}{_place(error)}{_advice(name)}"
        ) from error


def _text_of(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _advice(name: str) -> str:
    """What to write instead of the path of a file."""
    module = name.removesuffix(".py").strip("./").replace("/", ".")
    return "" if module == name else f"; name the module: {module}"


def _place(error: Exception) -> str:
    """Where it happened: the last line that is not of the import system or of this library."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    library = str(Path(__file__).parents[1])
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(("<frozen", library)) and frame.name != "import_module":
            return f" ({frame.filename}, line {frame.lineno})"
    return ""


def kinds_in(modules: Iterable[str]) -> list[type[Resource]]:
    """The kinds that modules declare themselves, in their order; what they import is not theirs.

    Imports the modules. Raises :class:`ProjectImportError` and :class:`NoKindsError`.
    """
    kinds: list[type[Resource]] = []
    for name in modules:
        module = import_project_module(name)
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
