"""The recipes of the walkthrough, as a reader follows them: the same buttons, in the same order.

Each test presses what its recipe prints in italics, and looks for what the recipe says. A button
that the text names and the test does not press, or the other way round, is a failure.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from clientgo.tools.study.actions import described
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.server import PageServer
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import foo_target
from tests.tools.study.reading import Line, Reader

PAGE: Final = Path(__file__).parents[3] / "docs/walkthrough/study.md"
FOO: Final = "default/foo-1"
OTHER: Final = "default/foo-2"

PACES: Final = {"Pause": "paused", "Resume": "running", "Slow motion": "slow"}
WATCH: Final = {"watch.opened", "watch.event"}
PARTS: Final = {"Ready", "Delayed"}


def recipes() -> dict[str, str]:
    """Return the text of each recipe, by its title."""
    section = PAGE.read_text().partition("## Six things to try")[2].partition("\n## ")[0]
    found = re.split(r"^\d\. \*\*(.+?)\.\*\*", section, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


class Page:
    """A page, as a program uses it: it presses what a recipe names, in its order."""

    def __init__(self, session: Session, url: str) -> None:
        self._url = urlsplit(url)
        self._actions = {action["label"]: action["name"] for action in map(described, actions())}
        self._words: list[str] = []
        self.session = session
        self.reader = Reader(session.recording)
        self.key = ""
        """The key that the reader has chosen."""

    def follow(self, title: str) -> str:
        """Begin with a recipe; return its text."""
        text = recipes()[title]
        self._words = re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", text)
        return " ".join(text.split())

    def press(self, label: str) -> dict[str, Any]:
        """Press the button that the recipe names next."""
        self._next(label)
        return self._press(label)

    def look(self, part: str) -> None:
        """Look at the part of the picture that the recipe names next."""
        assert part in PARTS
        self._next(part)

    def step_until(self, hop: str, **fields: Any) -> None:
        """Press Step, as the recipe says, until something happens; each time when all is quiet."""
        self._next("Step")
        while not self.reader.has(hop, **fields):
            assert self._press("Step") == {}, "no thread waits at a boundary"
            self.reader.wait_for(
                "the effect of a step",
                lambda line: (
                    line["hop"] in ("study.held", hop)
                    or (line["hop"] == "queue.add" and line["outcome"] == "known")
                ),
            )

    def seen(self, hop: str, **fields: Any) -> list[Line]:
        """Return the hops that were seen since the last :meth:`forget`."""
        return [
            line
            for line in self.reader.seen
            if line["hop"] == hop and fields.items() <= line.items()
        ]

    def end(self) -> None:
        assert self._words == [], "the recipe names more"

    def _next(self, word: str) -> None:
        assert self._words[:1] == [word], "the recipe names something else"
        del self._words[0]

    def _press(self, label: str) -> dict[str, Any]:
        if label == "Step":
            return self._post("step", {})
        if label in PACES:
            return self._post("pace", {"mode": PACES[label]})
        return self._post("act", {"action": self._actions[label], "key": self.key})

    def _post(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._url.netloc, timeout=30)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", self._url.path + what, json.dumps(body), headers)
        answer = connection.getresponse()
        found: dict[str, Any] = json.load(answer)
        connection.close()
        assert (answer.status, found.get("refused", False)) == (200, False), found
        return found

    def forget(self) -> None:
        """Look only at what follows."""
        self.reader.forget()

    def last_version(self, of: str) -> str:
        """Return the version at which an informer's watch is."""
        lines = [json.loads(line) for line in self.session.recording.lines()]
        at = [
            one["version"]
            for one in lines
            if one["hop"] in WATCH and one["of"] == of and "version" in one
        ]
        return str(at[-1])


def actions() -> list[Any]:
    return list(foo_target().actions)


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a Foo with its Deployment, at rest; no pods are simulated."""
    recording = Recording()
    with (
        Session(foo_target(), recording, beside=lambda _: nullcontext()) as session,
        PageServer(recording, title="recipes", session=session) as server,
    ):
        page = Page(session, server.url)
        page.reader.see("index.update", of="Deployment")
        page.reader.see("index.update", of="Foo", action="update")  # its status
        page.reader.settle()
        for key in (FOO, "default/web-1"):  # the page's own watch may be later
            cached = page.seen("index.update", key=key)[-1]
            page.reader.see("study.object", key=key, version=cached["version"])
        page.session.joined()  # a reader has opened the page
        yield page
        page.end()


def test_follow_one_change(page: Page) -> None:
    text = page.follow("Follow one change")
    assert "The page begins in slow motion" in text
    assert page.session.pacing.mode == "slow"
    page.forget()

    page.press("Scale it")

    way = ["study.object", "watch.event", "fifo.append", "fifo.pop", "index.update"]
    way += ["handler.call", "queue.add", "queue.get", "sync.start", "cache.get"]
    lines = [page.reader.wait_for_hop(hop, key=FOO) for hop in way]
    versions = {line.get("version") for line in lines if line["hop"].partition(".")[0] != "queue"}
    assert len(versions - {None}) == 1, "each has the version that the API server has"
    assert not any("version" in line for line in lines if line["hop"].startswith("queue."))


def test_stop_between_the_queue_and_the_worker(page: Page) -> None:
    page.follow("Stop between the queue and the worker")
    page.press("Pause")
    page.forget()
    page.press("Scale it")
    page.reader.wait_for_hop("study.held", boundary="watch.read")
    page.step_until("queue.add", key=FOO)
    page.look("Ready")
    page.press("Scale it")
    page.reader.wait_for_hop("study.held", boundary="watch.read")

    page.step_until("sync.start", key=FOO)

    read = page.reader.wait_for_hop("cache.get", key=FOO, of="Foo")
    stored = page.seen("study.object", key=FOO)
    assert len(stored) == 2
    assert read["version"] == stored[-1]["version"]
    assert len(page.seen("queue.get", key=FOO)) == 1
    page.press("Resume")
    page.reader.wait_for_hop("queue.done", key=FOO, again=False)


def test_ten_edits_at_once(page: Page) -> None:
    text = page.follow("Ten edits at once")
    page.session.pace("running")
    page.press("Slow motion")
    page.forget()

    page.press("Ten edits at once")

    while len(page.seen("queue.add")) < 10:
        page.reader.wait_for_hop("queue.add")
    page.reader.settle()
    assert page.seen("study.action")[0]["edits"] == 10
    events = page.seen("watch.event", key=FOO)
    assert len({event["version"] for event in events}) == len(events)
    page.reader.see("study.object", key=FOO, version=events[-1]["version"])
    outcomes = [line["outcome"] for line in page.seen("queue.add")]
    syncs = page.seen("sync.start")
    assert (len(events), len(outcomes)) == (10, 10)
    assert "10 edits, 10 events, 10 adds, and one to three syncs" in text
    assert 1 <= len(syncs) <= 3
    # Each sync is caused by an add that was not merged, or by those while the key was processed.
    assert len(syncs) == outcomes.count("new") + outcomes.count("while_processing")
    read = page.seen("cache.get", of="Foo")[-1]
    assert read["version"] == events[-1]["version"], "the last sync reads the tenth edit"
    assert not page.seen("request.answered", status=409)


def test_break_the_watch(page: Page) -> None:
    page.follow("Break the watch")
    page.session.pace("running")
    page.forget()

    known = {of: page.last_version(of) for of in ("Foo", "Deployment")}
    page.press("Cut the watches")
    page.press("Scale it")
    opened = {of: page.reader.see("watch.opened", of=of)["version"] for of in known}
    assert opened == known
    page.reader.see("index.update", of="Deployment")  # nothing is lost
    page.reader.settle()
    assert not [line for line in page.seen("request.sent") if "sendInitial" in line["path"]]

    page.forget()
    page.press("Expire history")
    for of in known:
        assert page.reader.see("watch.event", of=of, type="ERROR")["status"] == 410
        bookmark = page.reader.see("watch.event", of=of, type="BOOKMARK")  # ends the list
        sent = [line for line in page.seen("request.sent", of=of) if line["n"] < bookmark["n"]]
        assert "sendInitialEvents=true" in sent[-1]["path"]

    page.press("Freeze the watches")
    page.forget()
    page.press("Scale it")
    page.reader.see("study.object", key=FOO)
    assert not page.seen("watch.event")
    last = page.reader.seen[-1]["n"]
    page.press("Heal")
    assert page.reader.see("watch.event", key=FOO)["n"] > last


def test_let_syncs_fail(page: Page) -> None:
    text = page.follow("Let syncs fail")
    page.session.pace("running")
    page.press("Create a Foo")
    page.reader.see("index.update", of="Deployment", key="default/web-2")
    page.reader.see("index.update", of="Foo", key=OTHER, action="update")
    page.reader.settle()
    page.forget()
    page.key = FOO
    page.press("Let syncs fail")
    page.look("Delayed")

    delays: list[float] = []
    while len(delays) < 8:
        failed = page.reader.wait_for_hop("queue.add_rate_limited")
        assert failed["key"] == FOO
        delays.append(failed["delay"])
        if len(delays) == 6:
            page.session.act("scale", OTHER)  # while the first key waits
    assert delays == pytest.approx([0.005 * 2**failures for failures in range(8)])
    assert "5 ms, 10 ms, and so on, up to 0.64 s" in text
    page.reader.see("queue.forget", key=FOO)
    other = page.seen("sync.end", key=OTHER)
    assert other[0]["n"] < page.seen("queue.forget", key=FOO)[0]["n"]
    assert {line["error"] for line in other} == {""}


def test_resync(page: Page) -> None:
    page.follow("Resync")
    page.session.pace("running")
    page.forget()

    page.press("Resync")

    for key in (FOO, "default/web-1"):
        assert page.reader.see("handler.call", key=key)["event"] == "resync"
    assert page.reader.see("sync.end", key=FOO)["error"] == ""
    assert not page.seen("request.sent")


def test_each_recipe_is_followed_here() -> None:
    tests = {name.removeprefix("test_").replace("_", " ") for name in globals()}

    assert {title.lower() for title in recipes()} <= tests
