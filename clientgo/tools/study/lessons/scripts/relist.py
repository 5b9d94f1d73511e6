"""410 Gone: a list, and a comparison with the cache."""

from __future__ import annotations

from typing import Final

from clientgo.testcluster.server.faults import ExpireHistory
from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2", "foo-3")
    seen = stage.watched("Foo")
    stage.begin()

    stage.say("The connection of the Foos' watch breaks.")
    down = stage.break_watch("Foo")

    stage.say("Meanwhile users scale foo-1, delete foo-3 and create foo-4. foo-2 stays as it is.")
    stage.scale_foo("foo-1", 3)
    stage.delete_foo("foo-3")
    stage.create_foo("foo-4")
    stage.inject_once(ExpireHistory(), "the server drops its history")

    stage.say(
        f"The network is back. The history after version {seen} is gone: 410 Gone. So the "
        "reflector lists again."
    )
    stage.lift(down)
    stage.let_until("fifo.append", "watch.read", through="Foo", count=4)
    stage.ask(f"fifo Foo {key('foo-2')}")

    stage.say(
        "The informer compares the list with its cache. foo-1 and foo-2 are in both: updates. "
        "foo-4 is only in the list: new. foo-3 is only in the cache: deleted."
    )
    stage.let_until("index.update", "fifo.take", through="Foo", count=4)
    stage.wait("queue.add", count=3)

    stage.say(
        "The workers sync what was listed. For foo-2 there is nothing to do. foo-3 needs no sync: "
        "the garbage collector deletes its Deployment."
    )
    for _ in range(3):
        stage.sync_next()


LESSON: Final = Lesson(
    name="relist",
    title="410 Gone and the relist",
    sentence="If the last version is too old, the server answers 410 Gone. The reflector lists "
    "again, and the list is compared with the cache.",
    question="The new list has foo-2 at the version that the cache has. Is the handler called?",
    answers=(
        Answer(
            "No: it has not changed.",
            "A list can't say what happened in between. So the informer passes on each object.",
        ),
        Answer(
            "Yes: it is deleted and added again.",
            "The informer compares the list with the cache. It keeps what is in both.",
        ),
        Answer(
            "Yes, with an update from the same version.",
            "This is as in a resync. A handler that wants to save work compares the two versions.",
        ),
    ),
    right=2,
    counts=(
        Count("objects in the new list", 3, hops("fifo.append", delta="Replaced")),
        Count("objects that it did not have", 1, hops("fifo.append", tombstone=True)),
        Count("calls of the handler", 4, hops("handler.call", of="Foo")),
        Count("calls for a version that the cache had", 1, hops("handler.call", event="resync")),
        Count("syncs", 3, hops("sync.start")),
        Count("Deployments created", 1, hops("request.sent", method="POST")),
    ),
    concept=("concepts/reflector", "Reflector"),
    exercise=5,
    script=_script,
)
