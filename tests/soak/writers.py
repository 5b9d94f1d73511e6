"""Random writes to the server."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.meta import Resource
from sample_controller.types import Foo
from tests.soak.world import FINALIZER, GROUPS, KINDS, NAMESPACES, World


class Writer:
    """Writes random objects of all kinds, with errors of the server ignored."""

    def __init__(self, world: World, seed: str, names: int) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._names = names
        self._pace = self._rng.choice((0.0, 0.002, 0.01))

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            burst = self._rng.choice((1, 1, 5, 30))
            for _ in range(burst):
                if stop.is_set():
                    return
                self.write()
            stop.wait(self._pace * burst)

    def fill(self, count: int) -> None:
        """Create many small ConfigMaps."""
        objects = self._world.admin.resource(ConfigMap).namespace(NAMESPACES[0])
        for number in range(count):
            objects.create({"metadata": {"name": f"many-{number}", "labels": {"group": "red"}}})

    def write(self) -> None:
        """Write once; the server may refuse it."""
        rng = self._rng
        kind = rng.choice(KINDS)
        objects = self._world.admin.resource(kind).namespace(rng.choice(NAMESPACES))
        name = f"{kind.__name__.lower()}-{rng.randrange(self._names)}"
        action = rng.choice(_ACTIONS)
        try:
            action(objects, kind, name, rng)
        except Exception:
            self._world.findings.count("writes refused")
        else:
            self._world.findings.count("writes")


def new_object(kind: type[Resource], name: str, rng: random.Random) -> dict[str, Any]:
    obj: dict[str, Any] = {
        "metadata": {
            "name": name,
            "labels": {"group": rng.choice(GROUPS), "in": rng.choice(("yes", "no"))},
        }
    }
    if kind is Foo:
        obj["spec"] = {"deploymentName": name, "replicas": rng.randint(1, 10)}
    elif kind is Pod:
        obj["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    else:
        obj["data"] = _data(rng)
    return obj


def _data(rng: random.Random) -> dict[str, str]:
    """Return data that is sometimes larger than what one read of a socket brings."""
    return {"value": str(rng.random()), "text": "ä€𝄞\n" * rng.choice((0, 0, 0, 0, 10, 20_000))}


def _create(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    objects.create(new_object(kind, name, rng))


def _update(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    labels = {"group": rng.choice(GROUPS), "in": rng.choice(("yes", "no"))}
    objects.patch(name, {"metadata": {"labels": labels}})


def _change(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    if kind is Foo:
        objects.patch(name, {"spec": {"replicas": rng.randint(1, 10)}})
    elif kind is Pod:
        phase = {"status": {"phase": rng.choice(("Pending", "Running", "Succeeded"))}}
        objects.patch(name, phase, subresource="status")
    else:
        objects.patch(name, {"data": _data(rng)})


def _delete(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    objects.delete(name, grace_period_seconds=0)


def _recreate(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    objects.delete(name, grace_period_seconds=0)
    objects.create(new_object(kind, name, rng))


def _finalize(objects: Any, kind: type[Resource], name: str, rng: random.Random) -> None:
    objects.patch(name, {"metadata": {"finalizers": [FINALIZER]}})
    objects.delete(name, grace_period_seconds=0)
    objects.patch(name, {"metadata": {"labels": {"group": "red"}}})
    objects.patch(name, {"metadata": {"finalizers": None}})


_ACTIONS: tuple[Callable[..., None], ...] = (
    *(_create,) * 4,
    *(_update,) * 4,
    *(_change,) * 4,
    *(_delete,) * 2,
    _recreate,
    _finalize,
)
