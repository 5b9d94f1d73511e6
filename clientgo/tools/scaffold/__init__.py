"""The files of an operator's project, and what ``clientgo operator`` does with them.

::

    templates ──► new_files ──► a new project ──► project_code ──► manifests ──► config/*.yaml
                                                                                     │
                                                            a cluster ◄── installing ┘

Only the command line and tests use it; a running operator does not. Names are imported when they
are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.tools.scaffold.installing import apply, install_kinds
    from clientgo.tools.scaffold.manifests.generated_files import (
        generated_differences,
        write_generated,
    )
    from clientgo.tools.scaffold.manifests.project_manifests import (
        FOLDERS,
        PARTS,
        Generated,
        definition_files,
        generate,
    )
    from clientgo.tools.scaffold.manifests.webhook_configurations import (
        ClientConfig,
        add_conversions,
        by_url,
        webhook_configurations,
    )
    from clientgo.tools.scaffold.project import Project, read_project
    from clientgo.tools.scaffold.project_code import DeclaredOperator, declared_operator

_MODULES = {
    "project_code": ("DeclaredOperator", "declared_operator"),
    "installing": ("apply", "install_kinds"),
    "manifests.generated_files": ("generated_differences", "write_generated"),
    "manifests.project_manifests": (
        "FOLDERS",
        "PARTS",
        "Generated",
        "definition_files",
        "generate",
    ),
    "manifests.webhook_configurations": (
        "ClientConfig",
        "add_conversions",
        "by_url",
        "webhook_configurations",
    ),
    "project": ("Project", "read_project"),
}

__all__ = [
    # a project
    "Project",
    "read_project",
    "DeclaredOperator",
    "declared_operator",
    # its manifests
    "generate",
    "Generated",
    "PARTS",
    "FOLDERS",
    "definition_files",
    "write_generated",
    "generated_differences",
    "webhook_configurations",
    "add_conversions",
    "ClientConfig",
    "by_url",
    # in a cluster
    "apply",
    "install_kinds",
]


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
