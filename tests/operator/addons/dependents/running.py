"""Dependents of a gadget in a running manager, for several tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import NotFoundError, ObjectMeta
from clientgo.operator import Context
from clientgo.operator.addons.dependents import Dependent
from clientgo.testing.observer import Observer
from tests.operator.world import PATIENCE, Gadget, GadgetSpec, Part, Recording, World, gadget


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


class Settings(Dependent[ConfigMap, Gadget]):
    kind = ConfigMap

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        return config_map(primary.metadata.name, size=str(primary.spec.size))


class Piece(Dependent[Part, Gadget]):
    kind = Part

    def desired(self, ctx: Context[Gadget], primary: Gadget) -> Any:
        name = primary.metadata.name
        return Part(metadata=ObjectMeta(name=name), spec=GadgetSpec(size=primary.spec.size))


class Notes(list[Any]):
    """What a test's own code was told; the test waits for so many entries."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def append(self, entry: Any) -> None:
        with self._changed:
            super().append(entry)
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self) >= count, PATIENCE), self


class Telling(Recording):
    """Notes what its runs fail with."""

    def __init__(self) -> None:
        super().__init__()
        self.errors = Notes()

    def on_error(self, ctx: Context[Gadget], obj: Gadget, error: Exception) -> None:
        self.errors.append(error)


def start(world: World, *dependents: Any, answer: Any = None, **options: Any) -> Recording:
    recording = Recording(answer)
    builder = world.manager.controller(Gadget).dependents(*dependents).options(**options)
    builder.build(recording)
    return recording


def settle(world: World, recording: Recording, runs: int = 1) -> None:
    """Wait for so many runs, and until nothing more happens."""
    recording.wait_for_runs(runs)
    world.wait_for_timer()


@contextmanager
def settled(
    world: World, *dependents: Any, answer: Any = None, **options: Any
) -> Iterator[Recording]:
    """Run a manager for a new gadget, whose first run is over."""
    recording = start(world, *dependents, answer=answer, **options)
    world.create(gadget())
    with world.running():
        settle(world, recording)
        yield recording


def seen(world: World, kind: Any, condition: Callable[[Any], object]) -> bool:
    """Whether the objects of a kind come to fulfil a condition."""
    with Observer(world.client, kind) as observer:
        return observer.wait_until(lambda: condition(observer.lister(kind).list()), PATIENCE)


def resized(size: int) -> dict[str, Any]:
    return {"spec": {"size": size}}


def is_gone(world: World, kind: Any, name: str = "a") -> bool:
    try:
        world.get(kind, name)
    except NotFoundError:
        return True
    return False
