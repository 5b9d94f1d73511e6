"""The files of an operator's project, and what ``clientgo operator`` does with them.

::

    templates ──► new_files ──► a new project ──► declared_operator ──► manifests ──► config/*.yaml
                                                  (its code)                              │
                                                                 a cluster ◄── installing ┘

Only the command line and tests use it; a running operator does not. Names are imported when they
are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.scaffold.declared_operator import DeclaredOperator, declared_operator
    from clientgo.scaffold.installing import apply, install_kinds
    from clientgo.scaffold.manifests.project_manifests import generate
    from clientgo.scaffold.manifests.webhook_configurations import by_url, webhook_configurations
    from clientgo.scaffold.project import Project, read_project

__all__ = [
    "install_kinds",
    "apply",
    "webhook_configurations",
    "by_url",
    "Project",
    "read_project",
    "DeclaredOperator",
    "declared_operator",
    "generate",
]

_MODULES = {
    "install_kinds": "installing",
    "apply": "installing",
    "webhook_configurations": "manifests.webhook_configurations",
    "by_url": "manifests.webhook_configurations",
    "Project": "project",
    "read_project": "project",
    "DeclaredOperator": "declared_operator",
    "declared_operator": "declared_operator",
    "generate": "manifests.project_manifests",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
