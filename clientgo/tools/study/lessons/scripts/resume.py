"""A watch that breaks is resumed at the last version that it has seen."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key


def _script(stage: Stage) -> None:
    stage.prepare("foo-1", "foo-2")
    seen = stage.watched("Foo")
    stage.begin()

    stage.say("The connection of the Foos' watch breaks. The reflector tries to open the next.")
    down = stage.break_watch("Foo")

    stage.say("While the network is down, a user scales foo-1 and foo-2.")
    stage.scale_foo("foo-1", 3)
    stage.scale_foo("foo-2", 2)
    stage.ask(f"index Foo {key('foo-1')}")

    stage.say(
        f"The reflector has asked for everything after version {seen}. The server has this "
        "history, and sends both changes."
    )
    stage.lift(down)
    stage.let_until("index.update", "watch.read", "fifo.take", through="Foo", count=2)
    stage.wait("queue.add", count=2)


LESSON: Final = Lesson(
    name="resume",
    title="The connection is cut",
    sentence="A watch that breaks goes on at the last version that it has seen.",
    question="The cache is behind. How does the controller get the two changes?",
    answers=(
        Answer(
            "The next watch begins after the last version seen.",
            "Each event has a version. The reflector keeps the last one, and asks for the rest.",
        ),
        Answer(
            "It lists all objects again.",
            "This is needed only if the server does not have the history any more.",
        ),
        Answer(
            "They are lost until the objects change again.",
            "This would happen if the next watch began at now.",
        ),
    ),
    right=0,
    counts=(
        Count(
            "changes while there was no connection",
            2,
            hops("study.object", resource="foos", type="MODIFIED"),
        ),
        Count(
            "lists",
            0,
            hops("request.sent", lambda line: "sendInitialEvents=true" in line["path"], of="Foo"),
        ),
        Count("watches opened", 1, hops("watch.opened", of="Foo")),
        Count("events", 2, hops("watch.event", of="Foo", type="MODIFIED")),
        Count("keys added", 2, hops("queue.add", outcome="new")),
    ),
    concept=("concepts/reflector", "Reflector"),
    exercise=5,
    script=_script,
)
