"""An update of a version that is not the newest one is refused."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.faults import slow_server
from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key

_FOO: Final = key("foo-2")
_SLOW: Final = slow_server("create")


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    stage.begin()

    stage.say("A user creates foo-2. Its sync creates web-2, and waits for the slow server.")
    stage.inject(_SLOW)
    stage.create_foo("foo-2")
    stage.let_enqueue("Foo")
    stage.start_sync()
    stage.wait("request.sent", method="POST")

    stage.say("Meanwhile the user scales foo-2 to 3, so it has a new version.")
    new = stage.scale_foo("foo-2", 3)
    stage.ask(f"server foos {_FOO}")

    stage.say(
        "The server answers. The sync goes on, and updates the status with the version that it has "
        "read: 409 Conflict."
    )
    stage.lift(_SLOW)
    stage.wait("queue.add_rate_limited", key=_FOO)
    stage.finish_sync()
    stage.wait("queue.add", thread="workqueue-delays-foos")

    stage.say("The sync has failed. The key was added again after 5 ms. Now the events arrive.")
    for of, name in (("Foo", "foo-2"), ("Deployment", "web-2")):
        call = stage.let_until(
            "handler.call", "watch.read", "fifo.take", through=of, of=of, key=key(name)
        )
        stage.wait("queue.add", thread=call["thread"])

    stage.say(f"The next sync reads version {new}. It scales web-2 to 3, and writes the status.")
    stage.sync_next()


LESSON: Final = Lesson(
    name="conflict",
    title="The conflict",
    sentence="An update has the version that was read. If the server has a newer one, it refuses.",
    question="The sync has read the first version of foo-2, and now updates its status. What does "
    "the server answer?",
    answers=(
        Answer(
            "200: it merges the status with the new spec.",
            "The server can't know if the status that was computed fits the new spec.",
        ),
        Answer(
            "409 Conflict.",
            "The sync has decided on an old state. It has to look again.",
        ),
        Answer(
            "200: the update overwrites the user's change.",
            "Then the edit would be lost. The version in the update protects it.",
        ),
    ),
    right=1,
    counts=(
        Count("answers 409 Conflict", 1, hops("request.answered", status=409)),
        Count("failed syncs", 1, hops("sync.end", lambda line: bool(line["error"]))),
        Count("syncs of foo-2", 2, hops("sync.start", key=_FOO)),
        Count("back-offs", 1, hops("queue.add_rate_limited")),
    ),
    concept=("concepts/optimistic-locking", "Optimistic locking"),
    exercise=12,
    script=_script,
)
