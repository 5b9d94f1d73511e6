"""A project's operator as its code declares it.

Promises: no server is called; the manager is made with a client that leads nowhere, and is never
started.

Does not promise that the project's own code does nothing when it is imported.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clientgo.codegen.crd import definitions_of
from clientgo.codegen.own_types import import_project_module, kinds_in
from clientgo.codegen.version_differences import unconverted_fields, versions_warning
from clientgo.meta import Resource, resource_of
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.manager import Manager
from clientgo.operator.permissions import PolicyRule, rules_on
from clientgo.rest import RestConfig
from clientgo.tools.scaffold.inferred_rules import controller_rules, secure_metrics_rules
from clientgo.tools.scaffold.project import Project

_NOWHERE: Final = RestConfig(server="https://nowhere.invalid")

ManagerFunction = Callable[..., Manager]
"""``(cluster, **settings)``: makes the operator's manager, with settings in place of its own."""


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """A project with its kinds, its manager, and the rules that ``@rbac`` grants."""

    project: Project
    kinds: Sequence[type[Resource]]
    manager: Manager
    granted: Sequence[PolicyRule]

    @property
    def rules(self) -> list[PolicyRule]:
        """The permissions that follow from its controllers and metrics, and those of ``@rbac``."""
        controllers = self.manager.controllers()
        rules = [rule for controller in controllers for rule in controller_rules(controller)]
        if self.manager.config.secure_metrics:
            rules += secure_metrics_rules()
        return [*rules, *self.granted]

    @property
    def has_webhooks(self) -> bool:
        """True if the API server has to call it."""
        return not self.manager.webhooks.is_empty()

    @property
    def converted(self) -> list[str]:
        """The names of the definitions whose versions it converts."""
        return [kind.resource.group_resource for kind in self.manager.webhooks.conversions()]


def declared_operator(project: Project) -> DeclaredOperator:
    """Import a project's modules and make its manager.

    Raises ``ImportError``, :class:`~clientgo.operator.errors.DeclarationError`.
    """
    kinds = project_kinds(project)
    new_manager = manager_function(project)
    manager = new_manager(_NOWHERE, metrics="0", health="0")
    require_converters(manager, kinds)
    require_equal_versions(manager, kinds)
    return DeclaredOperator(project, kinds, manager, rules_on(new_manager))


def require_converters(manager: Manager, kinds: Iterable[type[Resource]]) -> None:
    """Check that a manager that converts a kind converts all its versions.

    Raises :class:`~clientgo.operator.errors.DeclarationError`.
    """
    webhooks = manager.webhooks
    converted = {conversions.resource.group_resource for conversions in webhooks.conversions()}
    webhooks.convertible(*(kind for kind in kinds if resource_of(kind).group_resource in converted))
    webhooks.conversions()


def require_equal_versions(manager: Manager, kinds: Iterable[type[Resource]]) -> None:
    """Check that a server loses nothing of the kinds that the manager does not convert.

    Raises :class:`~clientgo.operator.errors.DeclarationError`, ``TypeSchemaError``.
    """
    converted = {kind.resource.group_resource for kind in manager.webhooks.conversions()}
    rest = [kind for kind in kinds if resource_of(kind).group_resource not in converted]
    for definition in definitions_of(rest):
        if fields := unconverted_fields(definition):
            kind = definition["spec"]["names"]["kind"]
            raise DeclarationError(
                f"{kind}: {versions_warning(fields)}; write a converter with "
                f"clientgo operator create-webhook {kind} --conversion"
            )


def project_kinds(project: Project) -> list[type[Resource]]:
    """Return the kinds that a project declares. Raises ``ImportError`` and ``NoKindsError``."""
    _make_importable(project)
    return kinds_in_all([project.api])


def kinds_in_all(modules: Iterable[str]) -> list[type[Resource]]:
    """Return the kinds of modules, and of all modules in packages. Raises like ``kinds_in``."""
    names: list[str] = []
    for name in modules:
        module = import_project_module(name)
        if hasattr(module, "__path__"):
            names += sorted(
                found.name for found in pkgutil.walk_packages(module.__path__, f"{name}.")
            )
        else:
            names.append(name)
    return kinds_in(names)


def manager_function(project: Project) -> ManagerFunction:
    """Return the function that makes the manager. Raises ``ImportError``, ``ConfigError``."""
    module, colon, name = project.manager.partition(":")
    if not colon:
        raise ConfigError(
            f"manager = {project.manager!r}: write a module and a function of it, as "
            f'"{project.package}.main:new_manager"'
        )
    _make_importable(project)
    function: Any = getattr(import_project_module(module), name, None)
    if not callable(function):
        raise ConfigError(f"{module} has no function {name!r}, which operator.toml names")
    found: ManagerFunction = function
    return found


def _make_importable(project: Project) -> None:
    """Add the project to the import path: an installed command does not look there."""
    root = str(project.root.resolve())
    if root not in sys.path:
        sys.path.insert(0, root)
