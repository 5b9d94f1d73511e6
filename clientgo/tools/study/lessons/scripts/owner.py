"""A change of a child leads to a sync of its owner."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key

_FOO, _CHILD = key("foo-1"), key("web-1")


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    stage.begin()

    stage.say("Another user scales the Deployment web-1 to 5. foo-1 does not change.")
    stage.scale_deployment("web-1", 5)
    stage.let_until("fifo.append", "watch.read", through="Deployment", key=_CHILD)
    stage.ask(f"fifo Deployment {_CHILD}")

    stage.say("web-1 names its controller in its owner references: foo-1. So this key is added.")
    stage.let_until("queue.add", "fifo.take", through="Deployment")

    stage.say("The sync compares. foo-1 asks for 1 replica, and web-1 has 5. It sets 1 again.")
    stage.sync_next()

    stage.say("This update comes back as an event too. The sync that follows finds nothing to do.")
    stage.let_enqueue("Deployment")
    stage.sync_next()


LESSON: Final = Lesson(
    name="owner",
    title="Another user changes the child",
    sentence="A change of a child leads to the key of its owner, which repairs it.",
    question="The handler of the Deployments is called next. Which key does it add to the queue?",
    answers=(
        Answer(
            "default/web-1",
            "A worker could do nothing with it: the queue is for keys of Foos.",
        ),
        Answer(
            "default/foo-1",
            "The owner says what its child has to be, so the owner is synced.",
        ),
        Answer(
            "None: foo-1 has not changed.",
            "Then the controller would not repair what another user does to a child.",
        ),
    ),
    right=1,
    counts=(
        Count("changes of foo-1", 0, hops("study.object", resource="foos")),
        Count("events of web-1", 2, hops("watch.event", key=_CHILD)),
        Count("adds of the key default/web-1", 0, hops("queue.add", key=_CHILD)),
        Count("adds of the key default/foo-1", 2, hops("queue.add", key=_FOO)),
        Count("updates of web-1 by the controller", 1, hops("request.sent", method="PUT")),
    ),
    concept=("concepts/ownership", "Ownership and garbage collection"),
    exercise=13,
    script=_script,
)
