"""What the DeltaFIFO merges, and what the work queue merges."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2")
    stage.begin()

    stage.say("A user scales foo-1 three times, and foo-2 once. The watch sends four events.")
    for replicas in (2, 3, 4):
        stage.scale_foo("foo-1", replicas)
    stage.scale_foo("foo-2", 2)

    stage.say("The informer is busy, so the changes wait in the DeltaFIFO, one entry an object.")
    stage.let_until("fifo.append", "watch.read", through="Foo", count=4)
    stage.ask(f"fifo Foo {key('foo-1')}")

    stage.say("The informer takes an entry with all its changes. It applies one after the other.")
    stage.let_until("index.update", "fifo.take", through="Foo", count=4)
    stage.wait("handler.call", of="Foo", count=4)
    stage.wait("queue.add", count=4)

    stage.say(
        "A handler only adds the key: it would not be called again if it failed. The work queue "
        "merges, it has each key once. A worker can try a key again."
    )
    stage.sync_next()
    stage.sync_next()


LESSON: Final = Lesson(
    name="delta-fifo",
    title="The DeltaFIFO",
    sentence="The DeltaFIFO stands between the network and the cache. It collects the changes of "
    "each object.",
    question="foo-1 has one entry with three changes. How often is the handler called for it?",
    answers=(
        Answer(
            "Once, with the newest version.",
            "The DeltaFIFO does not merge updates. It merges only two deletions in a row.",
        ),
        Answer(
            "Not at all: a worker takes the entry.",
            "Workers take keys from the work queue. The DeltaFIFO belongs to the informer.",
        ),
        Answer(
            "Three times.",
            "The entry keeps each change. It only brings them to the informer together.",
        ),
    ),
    right=2,
    counts=(
        Count("changes of foo-1", 3, hops("fifo.append", key=key("foo-1"))),
        Count("entries in the DeltaFIFO", 2, hops("fifo.pop", of="Foo")),
        Count(
            "calls of the handler for foo-1", 3, hops("handler.call", of="Foo", key=key("foo-1"))
        ),
        Count("adds of the key foo-1", 3, hops("queue.add", key=key("foo-1"))),
        Count("syncs of foo-1", 1, hops("sync.start", key=key("foo-1"))),
    ),
    concept=("concepts/delta-fifo", "DeltaFIFO"),
    exercise=7,
    script=_script,
)
