"""Decoding that begins in several threads at once."""

from __future__ import annotations

import subprocess
import sys

RACE = """
import sys, threading
from clientgo.meta import Codec, Model, Resource, Unstructured, resource

sys.setswitchinterval(1e-6)

def declare():
    parts = type("P0", (Model,), {"__annotations__": {"x": int}, "x": 0, "__module__": __name__})
    for depth in range(12):
        fields = {f"f{n}": parts | None for n in range(10)}
        parts = type("P", (Model,), {
            "__annotations__": fields, **dict.fromkeys(fields), "__module__": __name__,
        })
    kind = type(Resource)("Kind", (Resource,), {
        "__annotations__": {"spec": parts | None}, "spec": None, "__module__": __name__,
    })
    return resource(version="v1", plural="kinds")(kind)

raw = b'{"metadata":{"name":"a"},"spec":{"f1":{"f2":{}}}}'
for _ in range(20):
    kind, ready = declare(), threading.Barrier(4)

    def use():
        ready.wait()
        assert Codec(kind).decode(raw).spec.f1.f2 is not None

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("survived")
"""


def test_types_that_several_threads_meet_at_once_do_not_crash_the_process() -> None:
    """In a process of its own: what is tested against is a crash, not an exception."""
    result = subprocess.run(
        [sys.executable, "-c", RACE], capture_output=True, text=True, timeout=60, check=False
    )

    assert (result.returncode, result.stdout) == (0, "survived\n"), result.stderr
