"""A sync reads the cache, which can be behind the server."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Answer, Count, Lesson, hops
from clientgo.tools.study.lessons.stage import Stage, key

_FOO: Final = key("foo-1")


def _script(stage: Stage) -> None:
    stage.prepare("foo-1")
    old = stage.cached("Foo", "foo-1")
    stage.begin()

    stage.say("A user scales foo-1 to 3. The server has the new version. Its event is on the way.")
    new = stage.scale_foo("foo-1", 3)

    stage.say("Another user scales web-1 to 5. This event is faster, so the key is enqueued.")
    stage.scale_deployment("web-1", 5)
    stage.let_enqueue("Deployment", key=_FOO)
    stage.ask(f"index Foo {_FOO}")

    stage.say(f"The sync reads foo-1 at version {old}, with 1 replica. It scales web-1 to 1.")
    stage.sync_next()

    stage.say(f"Now the event arrives. The cache has version {new}, and the key is added again.")
    stage.let_enqueue("Foo", key=_FOO)

    stage.say("The next sync reads 3 replicas, and scales web-1 to 3.")
    stage.sync_next()


LESSON: Final = Lesson(
    name="stale-cache",
    title="A cache that is behind",
    sentence="A sync reads the cache, not the server. The cache can be a moment behind.",
    question="A worker syncs foo-1 now. Which version of it does the sync read?",
    answers=(
        Answer(
            "The one in the cache.",
            "It is old, and that does no harm: the event that is missing will add the key again.",
        ),
        Answer(
            "The newest one, from the server.",
            "A read from the server for each sync would overload it. A lister reads the cache.",
        ),
        Answer(
            "None: it waits for the event.",
            "A sync does not know that an event is missing, so there is nothing to wait for.",
        ),
    ),
    right=0,
    counts=(
        Count(
            "reads of foo-1 from the cache by syncs",
            2,
            hops("cache.get", lambda line: "worker" in line["thread"], of="Foo", key=_FOO),
        ),
        Count("reads from the server", 0, hops("request.sent", of="foos", method="GET")),
        Count("syncs of foo-1", 2, hops("sync.start", key=_FOO)),
        Count("updates of web-1 by the controller", 2, hops("request.sent", method="PUT")),
    ),
    concept=("concepts/indexer", "Indexer and listers"),
    exercise=4,
    script=_script,
)
