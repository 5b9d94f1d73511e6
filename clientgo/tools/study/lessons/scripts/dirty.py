"""A key that is added while it is processed."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.faults import slow_server
from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key

_FOO: Final = key("foo-1")
_SLOW: Final = slow_server("update")


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    stage.begin()

    stage.say("A user scales foo-1 to 2. A worker updates web-1, and waits for the slow server.")
    stage.inject(_SLOW)
    stage.scale_foo("foo-1", 2)
    stage.let_enqueue("Foo")
    stage.start_sync()
    stage.wait("request.sent", method="PUT")

    stage.say("Meanwhile the user scales foo-1 to 4. The event adds the key again.")
    new = stage.scale_foo("foo-1", 4)
    stage.let_enqueue("Foo")
    stage.ask(f"dirty foos {_FOO}")

    stage.say("The server answers. The sync ends, and done makes the dirty key ready.")
    stage.lift(_SLOW)
    stage.finish_sync()

    stage.say(f"A worker takes it. This sync reads version {new}, and scales web-1 to 4.")
    stage.sync_next()


LESSON: Final = Lesson(
    name="dirty",
    title="Changed while it is processed",
    sentence="A key that is added while a worker processes it is dirty. It comes out again after "
    "done.",
    question="foo-1 is being processed, and was added again. A second worker is idle. What "
    "happens?",
    answers=(
        Answer(
            "The second worker syncs foo-1 immediately.",
            "Two syncs of one object would overwrite each other. The queue never allows that.",
        ),
        Answer(
            "Nothing: the key is being processed already.",
            "That sync has read the old version. Without another one, the edit would be lost.",
        ),
        Answer(
            "It is synced again, after this sync has ended.",
            "The key is dirty until done. So the change is not lost, and two workers never have "
            "the same key.",
        ),
    ),
    right=2,
    counts=(
        Count("adds while the key was processed", 1, hops("queue.add", outcome="while_processing")),
        Count("syncs of foo-1", 2, hops("sync.start", key=_FOO)),
        Count("keys that were ready again after done", 1, hops("queue.done", again=True)),
        Count("updates of web-1", 2, hops("request.sent", method="PUT")),
    ),
    concept=("concepts/workqueue", "Work queue"),
    exercise=3,
    script=_script,
)
