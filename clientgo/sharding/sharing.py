"""Run the work of a controller while its process is a member of a group."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.sharding.member import ShardMember
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import call_when_set


def work_in_shards(
    member: ShardMember[Any],
    work: Callable[[threading.Event], object],
    stop: threading.Event,
) -> None:
    """Run ``work(stop)`` in a thread, and the member in this one, until ``stop`` is set.

    Blocks; returns when the work has ended and the shards are given up. If one of the two fails the
    other is stopped, and the failure raised. A member that fails does not wait for the work.
    """
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work(ended)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the caller
            failures.append(error)
        finally:
            ended.set()

    thread = SupervisedThread(run, name="work-in-shards", then="this process does no work any more")
    registration = call_when_set(stop, ended.set)
    try:
        thread.start()
    except BaseException:
        registration.cancel()
        raise
    try:
        member.run(ended)
    finally:
        ended.set()
        registration.cancel()
    thread.join()
    if failures:
        raise failures[0]
