"""Ten edits lead to two syncs: a queue has a key once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Counter, Lesson, hops
from clientgo.tools.study.lessons.marks import Line
from clientgo.tools.study.lessons.stage import Stage, key

_FOO: Final = key("foo-1")


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    stage.begin()

    stage.say("A user scales foo-1 three times. Each event adds the key. No worker takes it yet.")
    for replicas in (2, 3, 4):
        stage.scale_foo("foo-1", replicas)
    stage.let_enqueue("Foo", count=3)

    stage.say("A worker takes the key. Before its sync reads the cache, seven more edits arrive.")
    stage.let("queue.take")
    stage.wait("queue.get")
    for replicas in (5, 4, 3, 2, 3, 4, 5):
        stage.scale_foo("foo-1", replicas)
    stage.let_enqueue("Foo", count=7)
    stage.ask(f"dirty foos {_FOO}")

    stage.say("The sync reads the newest version from the cache, and updates the Deployment.")
    stage.let("sync")
    stage.finish_sync()

    stage.say("The key was dirty, so it is ready again. The event of web-1 finds it there.")
    stage.let_enqueue("Deployment")

    stage.say("The second sync finds nothing to do.")
    stage.sync_next()


def _merged(*, processed: bool) -> Counter:
    """Count the adds that found the key in the queue: being processed, or ready."""

    def count(lines: Sequence[Line]) -> int:
        number, is_processed = 0, False
        for line in lines:
            if line["hop"] in ("queue.get", "queue.done"):
                is_processed = line["hop"] == "queue.get"
            elif line["hop"] == "queue.add" and line["outcome"] != "new":
                number += is_processed is processed
        return number

    return count


LESSON: Final = Lesson(
    name="ten-edits",
    title="Ten edits of one object",
    sentence="The work queue has a key once, however often it is added. It has no events.",
    question="Ten edits have made ten events, and ten adds of the key. How many syncs are there?",
    answers=(
        Answer("Ten.", "Then a busy object would keep the workers from all others."),
        Answer(
            "Two.",
            "One for the key that the worker took. One more, because it was added after that.",
        ),
        Answer(
            "One.",
            "The queue can't know what the worker has read already. So it gives the key out again.",
        ),
    ),
    right=1,
    counts=(
        Count("edits", 10, hops("study.action", action="change")),
        Count("events of foo-1", 10, hops("watch.event", key=_FOO)),
        Count("adds of the key, one of them for web-1", 11, hops("queue.add", key=_FOO)),
        Count("adds that were merged while the key was ready", 3, _merged(processed=False)),
        Count("adds that were merged while it was processed", 7, _merged(processed=True)),
        Count("syncs", 2, hops("sync.start", key=_FOO)),
    ),
    concept=("concepts/level-triggered", "Level-triggered"),
    exercise=1,
    script=_script,
)
