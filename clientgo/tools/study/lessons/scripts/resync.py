"""Each object from the cache again, without a request."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2")
    stage.begin()

    stage.say("The resync period ends. Each object goes into the DeltaFIFO once more.")
    stage.resync()
    stage.wait("fifo.append", of="Foo", count=2)
    stage.wait("fifo.append", of="Deployment", count=2)
    stage.ask(f"fifo Foo {key('foo-1')}")

    stage.say("The handlers are called with updates in which old and new are the same.")
    stage.let("fifo.take", "Foo")
    stage.let("fifo.take", "Deployment")
    stage.wait("handler.call", of="Foo", count=2)
    stage.wait("handler.call", of="Deployment", count=2)
    stage.wait("queue.add", count=2)

    stage.say("The handler of the Deployments compares the versions, and adds nothing.")
    stage.say("The syncs find nothing to do. They would repair what differs without an event.")
    stage.sync_next()
    stage.sync_next()


LESSON: Final = Lesson(
    name="resync",
    title="The resync",
    sentence="A resync calls the handlers for each object again, though nothing has changed.",
    question="Both Foos and both Deployments wait in a DeltaFIFO. Where do they come from?",
    answers=(
        Answer(
            "From a new list.",
            "This is a relist. A resync sends no request, so it can't repair the cache.",
        ),
        Answer(
            "From the watch: the server repeats its events.",
            "A watch sends each change once.",
        ),
        Answer("From the cache.", "So it is cheap for the server, and shows nothing new."),
    ),
    right=2,
    counts=(
        Count("requests to the server", 0, hops("request.sent")),
        Count("calls of the handler of the Foos", 2, hops("handler.call", of="Foo")),
        Count("calls of the handler of the Deployments", 2, hops("handler.call", of="Deployment")),
        Count("keys added", 2, hops("queue.add")),
        Count("syncs", 2, hops("sync.start")),
    ),
    concept=("concepts/resync", "Resync"),
    exercise=12,
    script=_script,
)
