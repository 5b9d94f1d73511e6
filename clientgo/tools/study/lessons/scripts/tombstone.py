"""A deletion that no watch has seen."""

from __future__ import annotations

from typing import Any, Final

from clientgo.testcluster.server.faults import ExpireHistory
from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key

_CHILD: Final[dict[str, Any]] = {"of": "Deployment", "key": key("web-2")}


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2")
    known, watched = stage.cached("Deployment", "web-2"), stage.watched("Deployment")
    stage.begin()

    stage.say("The connection of the Deployments' watch breaks. The cache stays as it is.")
    down = stage.break_watch("Deployment")

    stage.say("Now another user scales web-2 to 5, and then deletes it. No watch sees this.")
    stage.scale_deployment("web-2", 5)
    stage.delete_deployment("web-2")
    stage.inject_once(ExpireHistory(), "the server drops its history")

    stage.say(
        f"The network is back. The reflector asks for what came after version {watched}. The "
        "server does not have this history any more: 410 Gone. So the reflector lists again."
    )
    stage.lift(down)
    stage.let_until("fifo.append", "watch.read", through="Deployment", tombstone=True, **_CHILD)
    stage.ask(f"fifo Deployment {key('web-2')}")

    stage.say(
        "The list does not have web-2, but the cache has. So the informer removes it from the "
        f"cache, and calls the handler with a tombstone: the key, and the state of version {known}."
    )
    stage.let_until("index.update", "fifo.take", through="Deployment", action="delete", **_CHILD)
    stage.wait("handler.call", event="delete", tombstone=True, **_CHILD)
    stage.wait("queue.add", key=key("foo-2"))

    stage.say("The last known state names its owner, so the handler has enqueued the key of foo-2.")
    stage.sync_next()


LESSON: Final = Lesson(
    name="tombstone",
    title="A deletion that no watch saw",
    sentence="A tombstone tells a handler that an object is gone, and that no watch saw it go.",
    question="web-2 was deleted while the watch was down. What does the handler of the "
    "controller get?",
    answers=(
        Answer(
            "Nothing: no watch has sent DELETED.",
            "Then the cache would always keep web-2. The informer compares each list with the "
            "cache, so that it finds what was deleted.",
        ),
        Answer(
            "The last state that the cache knew, marked as such.",
            "This is a tombstone. The list says that web-2 is gone, and not how it was at the end. "
            "So the informer passes on what it knows, and says that it may be old.",
        ),
        Answer(
            "web-2 as it was when it was deleted, with 5 replicas.",
            "No list and no watch has brought this version to the controller: it cannot know it.",
        ),
    ),
    right=1,
    counts=(
        Count("events of the type DELETED from the watch", 0, hops("watch.event", type="DELETED")),
        Count("objects that the new list did not have", 1, hops("fifo.append", tombstone=True)),
        Count("calls of a handler with a tombstone", 1, hops("handler.call", tombstone=True)),
        Count("syncs of foo-2", 1, hops("sync.start", key=key("foo-2"))),
        Count("Deployments created", 1, hops("request.sent", method="POST")),
    ),
    concept=("concepts/tombstones", "Tombstones"),
    exercise=5,
    script=_script,
)
