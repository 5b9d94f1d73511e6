"""From an operator's code to everything around it.

::

    types ──────► definitions            ┐
    controllers ► roles                  │
    webhooks ───► configurations         ├──► config/*.yaml ──► a cluster
    manager ────► deployment             │
    operator.toml ┘                      ┘
    templates ──► a new project

``clientgo operator`` is its command. Programs need :func:`rbac` alone, and tests
:func:`install_kinds`; names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.operator.generation.declared_operator import DeclaredOperator, declared_operator
    from clientgo.operator.generation.installing import install_kinds
    from clientgo.operator.generation.policy_rules import rbac
    from clientgo.operator.generation.project import Project, read_project
    from clientgo.operator.generation.project_manifests import generate

__all__ = [
    "rbac",
    "install_kinds",
    "Project",
    "read_project",
    "DeclaredOperator",
    "declared_operator",
    "generate",
]

_HOMES = {
    "rbac": "policy_rules",
    "install_kinds": "installing",
    "Project": "project",
    "read_project": "project",
    "DeclaredOperator": "declared_operator",
    "declared_operator": "declared_operator",
    "generate": "project_manifests",
}
"""The module of each public name."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
