"""How long an edit waits for its run while a controller works off many other objects.

    python -m benchmarks.edit_latency --objects 10000 --work 20

The API server is a process of its own. One worker, whose runs take ``--work`` milliseconds. An
object is edited every fifth of a second: in a quiet controller, during a resync of all objects,
after a failover for which every object had changed, and while a namespace with all objects is
added. Prints the milliseconds from the answer to the edit until the end of its run, and how many
other runs began in between.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.operator import CacheScope, Context, LeaderElection, Manager
from clientgo.rest import RestConfig

MANY, FEW = "many", "few"
_FEW: Final = 50
_WRITERS: Final = 4
_SERVER: Final = """
import threading
from clientgo.testcluster.server import EmbeddedAPIServer
server = EmbeddedAPIServer()
server.start()
print(server.url, flush=True)
threading.Event().wait()
"""


class Editor:
    """Edits objects one by one, and is the reconciler that sees them."""

    def __init__(self, url: str, objects: int, work: float) -> None:
        self.url = url
        self.objects = objects
        self._work = work
        self._changed = threading.Condition()
        self._runs = 0
        self._seen: dict[str, tuple[str, float, int]] = {}

    def client(self) -> Client:
        return Client(RestConfig(server=self.url, qps=-1))

    def reconcile(self, ctx: Context[ConfigMap], obj: ConfigMap) -> None:
        with self._changed:
            self._runs += 1
            value = (obj.data or {}).get("edit", "")
            self._seen[str(ctx.key)] = value, time.monotonic() + self._work, self._runs
            self._changed.notify_all()
        time.sleep(self._work)

    def each(self, namespace: str, count: int, write: Callable[[Any, str], object]) -> None:
        """Call a function for the name of each object, in a few threads."""

        def some(first: int) -> None:
            with self.client() as client:
                objects = client.resource(ConfigMap).namespace(namespace)
                for number in range(first, count, _WRITERS):
                    write(objects, f"m{number}")

        threads = [threading.Thread(target=some, args=(first,)) for first in range(_WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def edit(self, what: str, namespace: str, seconds: float) -> None:
        """Edit for so many seconds, and print what was measured."""
        times, behind = [], []
        count = _FEW if namespace == FEW else self.objects
        end, number = time.monotonic() + seconds, 0
        with self.client() as client:
            objects = client.resource(ConfigMap).namespace(namespace)
            while time.monotonic() < end:
                number += 1
                name, value = f"m{number * 37 % count}", str(time.monotonic())
                objects.patch(name, {"data": {"edit": value}})
                sent, before, key = time.monotonic(), self._runs, f"{namespace}/{name}"
                with self._changed:
                    self._changed.wait_for(partial(self._is_seen, key, value), 60)
                _, ended, run = self._seen[key]
                times.append(ended - sent)
                behind.append(run - before - 1)
                time.sleep(0.2)
        middle, late = len(times) // 2, int(len(times) * 0.99)
        milliseconds = [1000 * each for each in sorted(times)]
        print(
            f"{what:<10} {len(times):>4} edits: p50 {milliseconds[middle]:7.1f} ms, p99 "
            f"{milliseconds[late]:7.1f} ms; runs before: p99 {sorted(behind)[late]}",
            flush=True,
        )

    def _is_seen(self, key: str, value: str) -> bool:
        return key in self._seen and self._seen[key][0] == value

    @contextmanager
    def manager(self, **settings: Any) -> Iterator[Any]:
        """Run a manager with one controller, which this is given."""
        manager = Manager(self.client(), metrics="0", **settings)
        controller = manager.controller(ConfigMap).build(self)
        with manager:
            yield controller


def measure(editor: Editor, seconds: float) -> None:
    with editor.client() as client:
        for name in (MANY, FEW):
            client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=name)))
    for namespace, count in ((MANY, editor.objects), (FEW, _FEW)):
        editor.each(namespace, count, lambda objects, name: objects.create(_config_map(name)))
    with editor.manager(namespaces=[FEW]):
        time.sleep(2)
        editor.edit("quiet", FEW, seconds / 4)
    scope = {ConfigMap: CacheScope(resync=seconds / 2)}
    with editor.manager(namespaces=[MANY], cache_by_kind=scope):
        editor.edit("resync", MANY, seconds)
    first, second = (
        LeaderElection(id="bench", namespace="default", identity=name) for name in "ab"
    )
    touched = {"data": {"touched": "yes"}}
    with ExitStack() as standby:
        with editor.manager(namespaces=[MANY], leader_election=first):
            standby.enter_context(editor.manager(namespaces=[MANY], leader_election=second))
            editor.each(MANY, editor.objects, lambda objects, name: objects.patch(name, touched))
        editor.edit("failover", MANY, seconds)
    with editor.manager(namespaces=[FEW]) as controller:
        time.sleep(2)
        change = threading.Thread(target=controller.change_namespaces, args=([FEW, MANY],))
        change.start()
        editor.edit("namespace", FEW, seconds)
        change.join()


def _config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data={"edit": ""})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--work", type=float, default=20.0, help="milliseconds of a run")
    parser.add_argument("--seconds", type=float, default=80.0, help="for each measurement")
    options = parser.parse_args()
    server = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        measure(Editor(url, options.objects, options.work / 1000), options.seconds)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
