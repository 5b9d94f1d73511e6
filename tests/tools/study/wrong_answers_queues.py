"""Wrong answers to the exercises about queues, workers and leaders."""

from __future__ import annotations

from typing import Final

from tests.tools.study.wrong_answer import WrongAnswer

_SYNCS = "SYNCS: int | None = 2"
_ADDS = "ADDS_THAT_CHANGED_SOMETHING: int | None = 2"

_TEN_EDITS = (
    WrongAnswer(1, "a-sync-for-each-edit", _SYNCS, "SYNCS = 11", "at most once"),
    WrongAnswer(1, "edits-are-lost", _SYNCS, "SYNCS = 1", "An edit during a sync is not lost"),
    WrongAnswer(1, "a-text", _SYNCS, "SYNCS = 'two'", "Write a number."),
    WrongAnswer(1, "each-add-counts", _ADDS, "ADDS_THAT_CHANGED_SOMETHING = 11", "changes nothing"),
    WrongAnswer(
        1, "only-the-first-add", _ADDS, "ADDS_THAT_CHANGED_SOMETHING = 1", "the queue marks it"
    ),
)

_DONE = """        try:
            sync(key)
        finally:
            queue.done(key)
"""

_FORGOTTEN_DONE = (
    WrongAnswer(
        3,
        "without-finally",
        _DONE,
        "        sync(key)\n        queue.done(key)\n",
        "The sync of default/b raises. Call done in a finally block",
    ),
    WrongAnswer(
        3,
        "done-before-the-sync",
        _DONE,
        "        queue.done(key)\n        sync(key)\n",
        "Call done after the sync",
    ),
    WrongAnswer(
        3,
        "done-only-after-a-failure",
        _DONE,
        _DONE.replace("finally", "except ValueError"),
        "Without queue.done(key) the queue holds back a key that is added again",
    ),
    WrongAnswer(
        3,
        "done-twice",
        _DONE,
        _DONE.replace("sync(key)\n", "sync(key)\n            queue.done(key)\n"),
        "in a finally block, and only there",
    ),
    WrongAnswer(
        3,
        "adds-the-key-itself",
        _DONE,
        "        sync(key)\n        queue.add(key)\n",
        "Without queue.done(key)",
    ),
    WrongAnswer(
        3,
        "ends-after-a-failure",
        _DONE,
        _DONE.replace("finally", "except Exception:\n            return\n        finally"),
        "A worker goes on until get says that the queue shuts down",
    ),
    WrongAnswer(3, "never-syncs", _DONE, "        queue.done(key)\n", "Call sync(key)"),
    WrongAnswer(
        3,
        "ends-after-one-key",
        _DONE,
        _DONE + "        return\n",
        "A worker goes on until get says",
    ),
)

_DELAYS = "DELAYS: list[float] | None = [0.005, 0.01, 0.02, 0.04]"
_PROCESS = """    try:
        sync(key)
    except ValueError:
        queue.add_rate_limited(key)
    else:
        queue.forget(key)
"""

_POISON_KEY = (
    WrongAnswer(8, "milliseconds", _DELAYS, "DELAYS = [5, 10, 20, 40]", "5 ms is 0.005"),
    WrongAnswer(8, "equal-delays", _DELAYS, "DELAYS = [0.005] * 4", "twice the one before"),
    WrongAnswer(8, "one-delay", _DELAYS, "DELAYS = 0.005", "a list of four numbers"),
    WrongAnswer(
        8,
        "never-forgets",
        _PROCESS,
        _PROCESS.replace("    else:\n        queue.forget(key)\n", ""),
        "Call queue.forget(key) after a success",
    ),
    WrongAnswer(
        8,
        "gives-the-key-back",
        _PROCESS,
        _PROCESS + "    queue.done(key)\n",
        "queue.done is called around your function",
    ),
    WrongAnswer(
        8,
        "always-forgets",
        _PROCESS,
        "    queue.forget(key)\n" + _PROCESS,
        "call queue.forget(key) only after a success",
    ),
    WrongAnswer(
        8,
        "adds-without-a-delay",
        _PROCESS,
        _PROCESS.replace("add_rate_limited", "add"),
        "add does not wait",
    ),
    WrongAnswer(
        8,
        "always-the-same-delay",
        _PROCESS,
        _PROCESS.replace("add_rate_limited(key)", "add_after(key, 0.005)"),
        "add_after always waits as long as you say",
    ),
    WrongAnswer(
        8,
        "drops-the-key",
        _PROCESS,
        _PROCESS.replace("queue.add_rate_limited(key)", "pass"),
        "it is never tried again",
    ),
    WrongAnswer(
        8,
        "raises-again",
        _PROCESS,
        _PROCESS.replace("add_rate_limited(key)\n", "add_rate_limited(key)\n        raise\n"),
        "your process has raised ValueError",
    ),
    WrongAnswer(
        8,
        "tries-again-in-place",
        _PROCESS,
        "    while True:\n        try:\n            return sync(key)\n"
        "        except ValueError:\n            queue.add_rate_limited(key)\n",
        "the worker takes the next key",
    ),
)

_LEAD = "    run_workers(leadership.stop, queue, sync, guard=leadership.check)"


def _guarded(body: str) -> str:
    return (
        f"    def guarded(key: str) -> None:\n{body}\n"
        "    run_workers(leadership.stop, queue, guarded)\n"
    )


_TWO_LEADERS = (
    WrongAnswer(
        9,
        "looks-at-the-stop-event",
        _LEAD,
        _guarded("        if not leadership.stop.is_set():\n            sync(key)"),
        "leadership.stop is not set yet",
    ),
    WrongAnswer(
        9,
        "checks-once-before",
        _LEAD,
        "    leadership.check()\n    run_workers(leadership.stop, queue, sync)",
        "a check before the first key is long ago",
    ),
    WrongAnswer(
        9,
        "checks-in-the-sync",
        _LEAD,
        _guarded("        leadership.check()\n        sync(key)"),
        "which the workers try again. An error in the guard ends them",
    ),
    WrongAnswer(
        9,
        "skips-the-key",
        _LEAD,
        _guarded("        if leadership.remaining() > 0:\n            sync(key)"),
        "Pass leadership.check itself as the guard",
    ),
    WrongAnswer(
        9,
        "calls-the-guard",
        _LEAD,
        _LEAD.replace("leadership.check", "leadership.check()"),
        "Call leadership.check before each key",
    ),
    WrongAnswer(
        9,
        "a-guard-that-does-not-raise",
        _LEAD,
        _LEAD.replace("leadership.check", "leadership.stop.is_set"),
        "leadership.stop is not set yet",
    ),
    WrongAnswer(
        9,
        "swallows-the-end",
        _LEAD,
        f"    try:\n    {_LEAD}\n    except Exception:\n        pass",
        "let its error end the work",
    ),
    WrongAnswer(9, "does-nothing", _LEAD, "    return", "lead must run the workers"),
)

WRONG_OF_QUEUES: Final = (
    *_TEN_EDITS,
    *_FORGOTTEN_DONE,
    *_POISON_KEY,
    *_TWO_LEADERS,
)
