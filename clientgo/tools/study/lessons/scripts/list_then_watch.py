"""A list, and a watch from its version: nothing falls between them."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key


def _script(stage: Stage) -> None:
    stage.create_foo("foo-1")
    stage.create_foo("foo-2")
    stage.hold()
    stage.begin()

    stage.say(
        "The controller keeps a Deployment for each Foo. Two Foos are on the server. "
        "The controller starts. Its cache is empty."
    )
    stage.start_controller()
    stage.wait("study.object", key=key("foo-1"))
    stage.wait("study.object", key=key("foo-2"))

    stage.say("The server streams the list: an ADDED for each object, and a bookmark at its end.")
    end = stage.let_until("watch.event", "watch.read", through="Foo", type="BOOKMARK")
    stage.wait("fifo.append", of="Foo", count=2)

    stage.say("Now a user creates foo-3. It is not in the list.")
    stage.create_foo("foo-3")
    created = stage.wait("study.object", key=key("foo-3"))["version"]
    stage.let_until("index.update", "fifo.take", through="Foo", count=2)
    stage.wait("queue.add", count=2)
    stage.ask(f"server foos {key('foo-3')}")

    stage.say(
        f"The list was made at version {end['version']}, and foo-3 has version {created}. The "
        "watch brings everything that came after the list, so also foo-3."
    )
    stage.let_until(
        "index.update", "watch.read", "fifo.take", through="Foo", key=key("foo-3"), action="add"
    )
    stage.wait("queue.add", key=key("foo-3"))


LESSON: Final = Lesson(
    name="list-then-watch",
    title="List, then watch",
    sentence="A controller lists the objects once. Then it watches from the version of the list.",
    question="foo-3 was created after the list was made. How does the controller learn of it?",
    answers=(
        Answer(
            "From the next list.",
            "There is no next list while all goes well: a list of everything costs too much.",
        ),
        Answer(
            "From the watch.",
            "The list has a version. The watch begins exactly there, so no change falls between.",
        ),
        Answer(
            "Not at all, until foo-3 changes again.",
            "This would happen if the watch began at now. It begins at the version of the list.",
        ),
    ),
    right=1,
    counts=(
        Count(
            "lists of Foos that were asked for",
            1,
            hops("request.sent", lambda line: "sendInitialEvents=true" in line["path"], of="Foo"),
        ),
        Count("objects in the list", 2, hops("fifo.append", of="Foo", delta="Replaced")),
        Count("changes after the list", 1, hops("fifo.append", of="Foo", delta="Added")),
        Count("objects in the cache", 3, hops("index.update", of="Foo", action="add")),
    ),
    concept=("concepts/list-and-watch", "List and watch"),
    exercise=10,
    script=_script,
)
