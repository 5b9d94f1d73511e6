"""The controllers of one manager: their names, settings and health.

Settings, from the weakest: built in, the manager's, what a file or the environment says of all
controllers and of the one, the decorator, the builder or argument. Liveness checks the workers,
readiness the caches and sources; leadership does not affect them.

Source: Java Operator SDK ControllerManager, ConfigLoader, RuntimeInfo.
"""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from clientgo.client import Client
from clientgo.meta import APIResource, GroupVersion, NotFoundError
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.controller import Controller, ControllerHealth
from clientgo.operator.controller.declaration import ControllerConfig, Declaration, changed_config
from clientgo.operator.errors import ConfigError, DeclarationError, OperatorError
from clientgo.operator.manager.config import ManagerConfig

EVERY: Final = "*"
"""In the settings by controller: those of all."""


class ControllerRegistry:
    """Thread-safe."""

    def __init__(self, config: ManagerConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._controllers: dict[str, Controller[Any]] = {}

    def all(self) -> list[Controller[Any]]:
        with self._lock:
            return list(self._controllers.values())

    def finalizers(self, primary: APIResource) -> set[str]:
        """Return the finalizers of all controllers of a kind."""
        same = (
            each for each in self.all() if each.primary.group_resource == primary.group_resource
        )
        return {name for controller in same for name in controller.finalizers}

    def settings_of(self, declaration: Declaration) -> ControllerConfig:
        """Return the settings of a controller. Raises ``ConfigError``."""
        resource = api_resource(declaration.primary)
        name = declaration.options.get("name") or resource.kind.lower() or resource.plural
        settings = {
            "workers": self._workers_of(resource),
            "cache_sync_timeout": self._config.cache_sync_timeout,
            **self._config.controllers.get(EVERY, {}),
            **self._config.controllers.get(name, {}),
            **declaration.options,
            "name": name,
        }
        return changed_config(ControllerConfig(), settings).checked()

    def check_new(self, name: str, *, allow_duplicate: bool) -> None:
        """Raises ``DeclarationError`` for a name that is taken."""
        with self._lock:
            if name in self._controllers and not allow_duplicate:
                raise DeclarationError(
                    f"this manager has a controller called {name!r} already; give one a name=..."
                )

    def add(self, controller: Controller[Any]) -> None:
        """Raises ``DeclarationError`` for a finalizer that another controller of the kind has."""
        with self._lock:
            for other in self._controllers.values():
                _check_finalizers(other, controller)
            self._controllers[self._free_name_locked(controller.name)] = controller

    def check_settings(self) -> None:
        """Raises ``ConfigError`` for settings of a controller, or of a kind, that there is not."""
        kinds = sorted(_kind_name(controller.primary) for controller in self.all())
        for name in self._config.workers_by_kind:
            if name not in kinds:
                raise ConfigError(
                    f"workers_by_kind has {name!r}, and no controller is for that kind, but "
                    f"{', '.join(kinds) or 'there are none'}"
                )
        known = [controller.name for controller in self.all()]
        for name in self._config.controllers:
            if name != EVERY and name not in known:
                near = difflib.get_close_matches(name, known, 3) or known or ["none"]
                raise ConfigError(
                    f"there are settings of a controller {name!r}, and no such controller; did "
                    f"you mean {' or '.join(near)}?"
                )

    def check_served(self, client: Client) -> None:
        """Raise ``ConfigError`` naming the kinds that the API server does not have. Blocks."""
        missing = {
            c.primary.group_resource for c in self.all() if not _is_served(client, c.primary)
        }
        if missing:
            raise ConfigError(
                f"the API server does not have {', '.join(sorted(missing))}: install the "
                "definitions first, or pass check_crds=False to wait for them"
            )

    def _workers_of(self, resource: APIResource) -> int:
        return self._config.workers_by_kind.get(_kind_name(resource), self._config.workers)

    def _free_name_locked(self, name: str) -> str:
        number = sum(known.partition("#")[0] == name for known in self._controllers)
        return f"{name}#{number + 1}" if number else name


def _kind_name(resource: APIResource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def _check_finalizers(one: Controller[Any], other: Controller[Any]) -> None:
    same_kind = one.primary.gvk == other.primary.gvk
    if other.finalizer and same_kind and one.finalizer == other.finalizer:
        raise DeclarationError(
            f"controllers {one.name} and {other.name} would both remove the finalizer "
            f"{other.finalizer}; give one another finalizer=..."
        )


def _is_served(client: Client, resource: APIResource) -> bool:
    try:
        served = client.discovery.resources(GroupVersion(resource.group, resource.version))
    except NotFoundError:
        return False
    return any(found.plural == resource.plural for found in served)


Controllers = Callable[[], list[Controller[Any]]]


class ManagerHealth:
    """``warm`` gives the controllers whose sources should run by now. Thread-safe."""

    def __init__(self, controllers: Controllers, warm: Controllers) -> None:
        self._controllers = controllers
        self._warm = warm

    def report(self) -> list[ControllerHealth]:
        return [controller.health() for controller in self._controllers()]

    def check_caches(self) -> None:
        for controller in self._warm():
            for source in controller.health().sources:
                if not source.synced:
                    raise OperatorError(
                        f"{controller.name}: {source.name} is not synced: {source.trouble or ''}"
                    )

    def check_sources(self) -> None:
        for controller in self._warm():
            for source in controller.health().sources:
                if source.trouble:
                    raise OperatorError(f"{controller.name}: {source.name}: {source.trouble}")

    def check_workers(self) -> None:
        for health in self.report():
            if not health.workers_alive:
                raise OperatorError(f"{health.name}: a worker has ended")
            if health.stuck:
                raise OperatorError(
                    f"{health.name}: all workers are in runs that go on for ten times the "
                    "reconcile_timeout; these do not look at ctx.cancelled"
                )


def catch_up(controllers: Iterable[Controller[Any]], timeout: float, stop: threading.Event) -> None:
    """Wait until the caches of what controllers write have what the API server has now.

    So many real seconds for all together, and not beyond ``stop``; see ``catching_up.py``.
    """
    deadline = time.monotonic() + timeout
    for cache in set[KindCache]().union(*(each.written_caches() for each in controllers)):
        cache.catch_up(deadline, stop)
