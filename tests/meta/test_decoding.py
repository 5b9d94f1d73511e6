"""Decoding and converting that begin in several threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

RACE = """
import sys, threading
from clientgo.meta import Codec, Model, Resource, resource
from clientgo.meta.decoding import convert_misfitting

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
        {use}

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("survived")
"""


@pytest.mark.parametrize(
    "use",
    [
        "assert Codec(kind).decode(raw).spec.f1.f2 is not None",
        "convert_misfitting({'spec': {'f1': {'f2': {}}}}, kind.__body__)",
    ],
    ids=["decode", "convert_misfitting"],
)
def test_types_that_several_threads_meet_at_once_do_not_crash_the_process(use: str) -> None:
    """In a process of its own: what is tested against is a crash, not an exception."""
    program = RACE.replace("{use}", use)
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (result.returncode, result.stdout) == (0, "survived\n"), result.stderr
