"""What a command line names: a function of the user's project, and files with manifests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clientgo.codegen.own_types import ProjectImportError, import_project_module
from clientgo.util.copies import CopyableError
from clientgo.util.text.yaml_reader import YamlError, read_yaml_documents


class UsageError(CopyableError, ValueError):
    """What the user gave can't be used."""


def load_function(place: str) -> Callable[..., Any]:
    """Return the function at ``my_project.testing:function``. Raises :class:`UsageError`."""
    module, separator, name = place.partition(":")
    if not separator:
        raise UsageError(f"{place!r} names no function; write it as my_project.testing:function")
    sys.path.insert(0, "")  # as with python -m: modules of this directory
    try:
        function: Any = getattr(import_project_module(module), name, None)
    except ProjectImportError as error:
        raise UsageError(str(error)) from error
    finally:
        sys.path.remove("")
    if not callable(function):
        raise UsageError(f"{module} has no function {name!r}")
    loaded: Callable[..., Any] = function
    return loaded


def read_manifests(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the objects of YAML files. Raises :class:`UsageError`."""
    return [manifest for file in files for manifest in manifests_of(file)]


def manifests_of(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a YAML file. Raises :class:`UsageError`."""
    try:
        documents = read_yaml_documents(file.read_bytes())
    except (OSError, YamlError) as error:
        raise UsageError(f"{file} can't be read: {error}") from error
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document:
            raise UsageError(f"{file} holds something else than manifests")
    return documents
