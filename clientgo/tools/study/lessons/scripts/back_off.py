"""A key that fails waits, the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.tools.study.actions import AGENT
from clientgo.tools.study.lessons.faults import LessonFault
from clientgo.tools.study.lessons.lesson import Answer, Count, Counter, Lesson, hops
from clientgo.tools.study.lessons.marks import Line, matches
from clientgo.tools.study.lessons.stage import Stage, key

_FAILURES: Final = 10  # so that foo-2 is queued long before the last delay ends
_FOO, _OTHER = key("foo-1"), key("foo-2")
_REFUSED: Final = LessonFault(
    FailRequests(
        requests=Requests(
            verbs=("update",), resource="deployments", name="web-1", user_agent=AGENT
        ),
        status=500,
        times=_FAILURES,
    ),
    begins="the server answers 500 to updates of web-1",
    ends="the server takes updates of web-1 again",
    shown="500 for web-1",
)


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2")
    stage.begin()

    stage.say("The server refuses each update of web-1. A user scales foo-1.")
    stage.inject(_REFUSED)
    stage.scale_foo("foo-1", 3)

    stage.say("The sync fails again and again. Each time the key waits twice as long.", fast=True)
    stage.release()
    last = stage.wait("queue.add_rate_limited", failures=_FAILURES)
    stage.wait("queue.done", count=_FAILURES)
    stage.hold()

    stage.say(
        f"The server takes updates again, but foo-1 waits for {last['delay']:g} s. A user scales "
        "foo-2."
    )
    stage.lift(_REFUSED)
    stage.scale_foo("foo-2", 3)
    stage.let_enqueue("Foo", key=_OTHER)
    stage.ask(f"q foos {_FOO}")

    stage.say("A worker takes foo-2 immediately: the back-off belongs to the key foo-1.")
    stage.sync_next()

    stage.say("After its delay foo-1 is ready. This sync succeeds, and forget ends its back-off.")
    stage.sync_next()


def _delay(place: int) -> Counter:
    """Return one of the delays, in milliseconds."""
    return lambda lines: round(
        1000 * [line["delay"] for line in lines if line["hop"] == "queue.add_rate_limited"][place]
    )


def _meanwhile(lines: Sequence[Line]) -> int:
    """Count the syncs of foo-2 between the last failure of foo-1 and its next try."""
    failed = max(n for n, line in enumerate(lines) if line["hop"] == "queue.add_rate_limited")
    tried = max(n for n, line in enumerate(lines) if matches(line, "queue.get", {"key": _FOO}))
    return hops("sync.start", key=_OTHER)(lines[failed:tried])


LESSON: Final = Lesson(
    name="back-off",
    title="A key that fails",
    sentence="A key that fails waits, each time twice as long. The other keys go on.",
    question="foo-1 waits for its next try. foo-2 was just added. When is foo-2 synced?",
    answers=(
        Answer(
            "Immediately.",
            "Failures are counted by key, and foo-2 has none. Only the retry of foo-1 waits: an "
            "event of foo-1 would add its key immediately.",
        ),
        Answer(
            "After foo-1.",
            "A delayed key is not in the queue. It is added when its delay ends.",
        ),
        Answer(
            "After the same back-off.",
            "Then one poison key would slow down the whole controller.",
        ),
    ),
    right=0,
    counts=(
        Count("failures of foo-1", _FAILURES, hops("queue.add_rate_limited", key=_FOO)),
        Count("first back-off, in milliseconds", 5, _delay(0)),
        Count("last back-off, in milliseconds", 2560, _delay(-1)),
        Count("syncs of foo-2 while foo-1 waited", 1, _meanwhile),
        Count("syncs of foo-1", _FAILURES + 1, hops("sync.start", key=_FOO)),
    ),
    concept=("concepts/workqueue", "Work queue"),
    exercise=8,
    script=_script,
)
