"""A watch that is open and silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clientgo.testcluster.server.faults import FreezeWatches
from clientgo.tools.study.lessons.faults import LessonFault, watches_of
from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.marks import Line
from clientgo.tools.study.lessons.stage import Stage, key

_FOO: Final = key("foo-1")
_FROZEN: Final = LessonFault(
    FreezeWatches(requests=watches_of("Foo")),
    begins="the watch freezes",
    ends="the watch goes on",
    shown="watch frozen",
)


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    stage.release()
    stage.begin()

    stage.say("The watch of the Foos freezes: its connection stays open, and brings nothing.")
    stage.inject(_FROZEN)

    stage.say("A user scales foo-1 to 3. The server has an event for the watch.")
    new = stage.scale_foo("foo-1", 3)
    stage.wait_until_struck(_FROZEN)
    stage.ask(f"index Foo {_FOO}")

    stage.say(f"Now the watch goes on, and the event brings version {new}.")
    stage.lift(_FROZEN)
    stage.wait("sync.start", key=_FOO)
    stage.settle()


def _while_frozen(lines: Sequence[Line]) -> int:
    """Count what the controller does before the question is answered."""
    asked = next(n for n, line in enumerate(lines) if line.get("what") == "ask")
    return sum(not line["hop"].startswith("study.") for line in lines[:asked])


LESSON: Final = Lesson(
    name="frozen-watch",
    title="The frozen watch",
    sentence="A watch can be open and silent. Then the cache is stale, and nothing says so.",
    question="The cache has the old version of foo-1. What shows this to the controller?",
    answers=(
        Answer(
            "Nothing.",
            "Some minutes later the watch times out, and the next one brings what is missing.",
        ),
        Answer(
            "The watch ends with an error.",
            "Its connection is open. To the client it is a cluster in which nothing happens.",
        ),
        Answer(
            "The reflector compares the cache with the server.",
            "It reads only what the server sends. A comparison would need a list.",
        ),
    ),
    right=0,
    counts=(
        Count("changes of foo-1", 1, hops("study.object", resource="foos", type="MODIFIED")),
        Count("hops of the controller while the watch was frozen", 0, _while_frozen),
        Count("events when it went on", 1, hops("watch.event", of="Foo", key=_FOO)),
    ),
    concept=("concepts/reflector", "Reflector"),
    exercise=5,
    script=_script,
)
