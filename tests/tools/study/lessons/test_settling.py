"""When a controller has nothing left to do, as a script sees it from the hops."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.tools.study.lessons.settling import Settling

FOO: dict[str, Any] = {"of": "Foo", "key": "default/foo-1", "version": "7", "thread": "handler"}
KEY: dict[str, Any] = {"of": "foos", "key": "default/foo-1", "thread": "worker"}

UPDATED = FOO | {"hop": "index.update", "action": "add", "thread": "Foo"}
CALLED = FOO | {"hop": "handler.call"}
ADDED = KEY | {"hop": "queue.add", "thread": "handler"}
FAILED = KEY | {"hop": "queue.add_rate_limited"}
DONE = KEY | {"hop": "queue.done", "again": False}
DIRTY = KEY | {"hop": "queue.done", "again": True}
RETRIED = KEY | {"hop": "queue.add", "thread": "workqueue-delays-foos"}


@pytest.mark.parametrize(
    ("left", "hops"),
    [
        ("nothing", []),
        ("a handler is to be called", [UPDATED]),
        ("it has not added its key yet", [UPDATED, CALLED]),
        ("the key is to be synced", [UPDATED, CALLED, ADDED]),
        ("nothing", [UPDATED, CALLED, ADDED, DONE]),
        ("it was dirty", [UPDATED, CALLED, ADDED, DIRTY]),
        ("it waits for its next try", [UPDATED, CALLED, ADDED, FAILED, DONE]),
        ("another add does not end this", [ADDED, FAILED, DONE, ADDED, DONE]),
        ("nothing", [ADDED, FAILED, DONE, RETRIED, DONE]),
        ("the handler has an older version", [UPDATED, CALLED | {"version": "6"}, ADDED, DONE]),
    ],
)
def test_a_controller_is_idle_when_nothing_is_left(left: str, hops: list[dict[str, Any]]) -> None:
    settling = Settling()

    for hop in hops:
        settling.apply(hop)

    assert settling.is_idle() is (left == "nothing")
