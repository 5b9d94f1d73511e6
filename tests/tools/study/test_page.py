"""The page in a browser: what is shown, what the buttons do, and that nothing leaves the machine.

Needs a Chromium and the package playwright; skipped without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import pytest

from clientgo.tools.study.recording import Recording
from clientgo.tools.study.server import PageServer
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import foo_target
from tests.tools.study.chromium import OVERLAPS, PHONE, WIDE, chromium, needs_chromium, opened
from tests.tools.study.hops import FOO, place_of, recorded
from tests.tools.study.reading import Reader

pytestmark = [needs_chromium, pytest.mark.browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/foos"
WATCH = "resourceVersion=1329&watch=true"
LISTS = f"{FOOS}?{WATCH}&sendInitialEvents=true"


@pytest.fixture
def replay() -> Iterator[str]:
    with PageServer(Recording(recorded()), title="a recording") as server:
        yield server.url


def seek(page: Any, place: int) -> None:
    page.wait_for_function(f"Study.current.lines.length === {len(recorded())}")
    page.evaluate(f"Study.current.seek({place})")


def pills(page: Any, style: str) -> list[str]:
    """Return the keys of the pills of a style, as assistive technology reads them."""
    found: list[str] = page.eval_on_selector_all(
        f".pill.{style}:not(.leaving)", "all => all.map(one => one.getAttribute('aria-label'))"
    )
    return found


# A recording


def test_the_page_works_under_its_own_security_policy(browser: Any, replay: str) -> None:
    with opened(browser, replay, bypass_csp=False) as page:
        page.wait_for_selector("#step:enabled")  # the recording is there, and is not being played
        page.keyboard.press("Space")

        page.wait_for_selector(".pill.solid")


def test_a_recording_is_scrubbed_back_and_forth(browser: Any, replay: str) -> None:
    with opened(browser, replay) as page:
        seek(page, place_of("fifo.append"))
        assert pills(page, "solid") == [f"{FOO}: 1 deltas: Added"]

        seek(page, place_of("sync.start"))
        assert pills(page, "solid") == [f"{FOO}: taken by worker-1", f"{FOO}: worker-1 syncing"]

        seek(page, place_of("queue.add", 2))
        assert pills(page, "ghost") == [f"{FOO}: comes out again after done"]

        seek(page, place_of("queue.done"))
        assert pills(page, "failure") == [f"{FOO}: 1 failures in a row, last back-off 0.5 s"]
        assert pills(page, "delayed") == [f"{FOO}: added with a delay of 0.5 s"]
        assert f"{FOO}: waits for a worker" in pills(page, "solid")

        seek(page, place_of("fifo.append"))
        assert pills(page, "solid") == [f"{FOO}: 1 deltas: Added"]


def test_a_step_shows_one_hop_and_moves_a_token(browser: Any, replay: str) -> None:
    with opened(browser, replay) as page:
        place = place_of("fifo.append")
        seek(page, place - 1)

        page.click("#step")

        assert page.evaluate("Study.current.position") == place
        assert page.inner_text("#caption") == "Foo's DeltaFIFO gets added foo-1"
        token = page.locator(".pill.solid")
        begins = token.bounding_box()
        page.wait_for_function(
            "begins => document.querySelector('.pill.solid').getBoundingClientRect().x > begins",
            arg=begins["x"],
        )
        page.keyboard.press(",")
        assert page.evaluate("Study.current.position") == place - 1


def test_a_recording_plays_to_its_end(browser: Any, replay: str) -> None:
    with opened(browser, replay) as page:
        seek(page, len(recorded()) - 3)

        page.keyboard.press("Space")

        page.wait_for_function("Study.current.position === Study.current.lines.length")
        page.wait_for_function("document.getElementById('pause').textContent === 'Play'")


def test_a_chosen_key_shows_its_time_line_its_change_and_the_code(
    browser: Any, replay: str
) -> None:
    with opened(browser, replay) as page:
        seek(page, place_of("sync.end"))

        page.locator(".pill.cached").focus()
        page.keyboard.press("Enter")

        assert page.inner_text("#details-title .chip") == FOO
        changed = page.locator(".diff .old, .diff .new").all_inner_texts()
        assert [line.strip() for line in changed] == [
            '-   resourceVersion: "2"',
            '+   resourceVersion: "3"',
            "-   replicas: 1",
            "+   replicas: 4",
        ]
        page.get_by_role("button", name="worker-1 syncs foo-1").click()
        assert page.inner_text(".where code") == "demo/controller.py:2"
        assert page.inner_text(".code .here").split() == ["2", "1", "/", "0"]
        page.keyboard.press("Escape")
        assert page.inner_text("#details-title") == "What happens"


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_its_labels_do_not_overlap(
    browser: Any, replay: str, size: tuple[int, int], scheme: str
) -> None:
    with opened(browser, replay, size, color_scheme=scheme) as page:
        seek(page, place_of("queue.done"))

        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_each_informer_leads_to_the_queue_and_is_read_by_the_workers(
    browser: Any, replay: str, size: tuple[int, int]
) -> None:
    with opened(browser, replay, size) as page:
        seek(page, place_of("queue.done"))
        for count in (1, 2, 3):
            page.evaluate(
                """count => {
                  const state = Study.model.initial();
                  const informers = Array.from({ length: count }, (_, i) => "Kind" + i);
                  Study.model.apply(state, { hop: "study.target", at: 0, informers });
                  Study.drawing = Study.layout.of(state, innerWidth < 640);
                }""",
                count,
            )
            leaves = """(kind) => {
              const { arrows, places } = Study.drawing;
              return [...places].filter(([name, area]) => name.startsWith(kind) && arrows.some(
                ({ points: [[x, y]] }) => x >= area.x && x <= area.x + area.w + 0.5
                  && y >= area.y && y <= area.y + area.h + 0.5)).length;
            }"""
            assert page.evaluate(leaves, "index:") == count
            dashed = page.evaluate("Study.drawing.arrows.filter((one) => one.dashed).length")
            assert dashed == count


def test_bookmarks_are_one_line(browser: Any) -> None:
    line = {"hop": "watch.event", "of": "Foo", "thread": "Foo reflector", "type": "BOOKMARK"}
    lines = [json.dumps(line | {"at": n, "version": str(n)}).encode() for n in range(1, 5)]
    with (
        PageServer(Recording(lines), title="bookmarks") as server,
        opened(browser, server.url) as page,
    ):
        page.wait_for_function("Study.current.lines.length === 4")
        page.evaluate("Study.current.seek(4)")

        page.wait_for_function(
            """document.querySelector("#details .timeline")?.innerText.includes("the last of 4")"""
        )
        told = "Foo's watch sends a bookmark, version 4 (the last of 4 bookmarks)"
        assert page.locator(".timeline .told").all_inner_texts() == [told]


WORDS: list[tuple[dict[str, Any], str]] = [
    (
        {"hop": "request.sent", "of": "Foo", "method": "GET", "path": LISTS},
        "Foo lists: its reflector asks for all objects",
    ),
    (
        {"hop": "watch.opened", "of": "Foo", "version": "1329"},
        "Foo's watch is open from version 1329",
    ),
    (
        {"hop": "watch.event", "of": "Foo", "type": "ERROR", "status": 410},
        "Foo's watch gets 410 Gone: version 1329 is too old",
    ),
    (
        {"hop": "watch.ended", "of": "Foo", "reason": "too old resource version: 1329 (1400)"},
        "Foo's watch ends: 410 Gone, version 1329 is too old",
    ),
    (
        {"hop": "request.sent", "of": "Foo", "method": "GET", "path": LISTS},
        "Foo lists again: its reflector asks for all objects",
    ),
    (
        {"hop": "request.answered", "of": "Foo", "status": 0, "seconds": 0.001},
        "Foo's reflector has no connection to the API server",
    ),
    (
        {"hop": "request.sent", "of": "Foo", "method": "GET", "path": f"{FOOS}?{WATCH}"},
        "Foo's reflector sends: watch foos from version 1329",
    ),
    (
        {"hop": "fifo.append", "of": "Deployment", "key": "default/web-2", "tombstone": True},
        "Deployment's DeltaFIFO gets a tombstone of web-2",
    ),
    (
        {"hop": "handler.call", "of": "Foo", "key": "default/foo-2", "event": "delete"}
        | {"tombstone": True},
        "Foo's handler is called: delete with the tombstone of foo-2",
    ),
    (
        {"hop": "cache.get", "of": "Foo", "key": FOO, "version": "7", "thread": "worker-1"},
        "worker-1 reads foo-1 in Foo's cache: version 7",
    ),
    (
        {"hop": "cache.get", "of": "Deployment", "key": "default/web-1", "missing": True}
        | {"thread": "Foo handler 1 (Controller.enqueue_foo)"},
        "Foo handler 1 reads web-1 in Deployment's cache: it is not there",
    ),
]


def test_each_hop_says_whose_it_is_in_the_words_of_kubernetes(browser: Any, replay: str) -> None:
    lines = [{"at": n, "thread": "Foo reflector"} | line for n, (line, _) in enumerate(WORDS)]
    with opened(browser, replay) as page:
        told = page.evaluate(
            """(lines) => {
              const state = Study.model.initial();
              Study.model.apply(state, { hop: "study.target", at: 0, informers: ["Foo"] });
              return lines.map((line) => {
                Study.model.apply(state, line);
                return Study.words.tell(line);
              });
            }""",
            lines,
        )
    assert told == [words for _, words in WORDS]


def test_each_part_of_the_picture_is_explained_on_focus(browser: Any, replay: str) -> None:
    with opened(browser, replay) as page:
        seek(page, place_of("queue.done"))

        for place, told in (
            ("reflector:Foo", "it lists, then watches"),
            ("fifo:Foo", "ten changes of one object are one entry"),
            ("index:Foo", "local copy"),
            ("handlers:Foo", "only puts the key"),
            ("queue:foos", "Holds keys, not events"),
            ("dirty:foos", "Added again while being processed"),
        ):
            page.focus(f'[data-place="{place}"]')
            assert told in page.inner_text("#explain")


# A live controller


@pytest.fixture
def live() -> Iterator[Session]:
    """A Foo with its Deployment, and a controller at rest."""
    with Session(foo_target(), Recording(), beside=lambda _: nullcontext()) as session:
        reader = Reader(session.recording)
        reader.see("index.update", of="Deployment")
        reader.see("index.update", of="Foo", action="update")  # its status
        reader.settle()
        yield session


@contextmanager
def served(session: Session) -> Iterator[str]:
    with PageServer(session.recording, title="live", session=session) as server:
        yield server.url


def hops_since(page: Any, position: int) -> list[str]:
    found: list[str] = page.evaluate(f"Study.current.lines.slice({position}).map((one) => one.hop)")
    return found


def test_pause_holds_step_lets_one_go_and_a_closed_page_lets_all_go(
    browser: Any, live: Session
) -> None:
    with served(live) as url:
        with opened(browser, url) as page:
            page.wait_for_selector(".pill.cached")
            page.click("#pause")
            page.wait_for_selector("body[data-pace=paused]")
            assert page.inner_text("#pause") == "Resume"
            page.click("[data-action=scale]")
            page.wait_for_selector(".thread")
            page.wait_for_selector('.station.held[data-place="reflector:Foo"]')
            position = page.evaluate("Study.current.lines.length")

            page.click("#step")

            page.wait_for_selector('.station.held[data-place="fifo:Foo"]')
            assert hops_since(page, position).count("study.released") == 1
            held = {one.number for one in live.pacing.held()}
            page.click("#step")
            page.wait_for_selector('.station.held[data-place^="worker:"]')
            assert len(held - {one.number for one in live.pacing.held()}) == 1
            hops = hops_since(page, position)
            assert (hops.count("study.released"), "sync.start" in hops) == (2, False)
        assert_goes_on(live)


def assert_goes_on(session: Session) -> None:
    """Wait until the last page is noticed to be closed."""
    position = 0
    while session.pacing.mode != "running":
        part = session.recording.read(position, 30)
        assert part.lines, "nothing was let go after the page was closed"
        position = part.end


def test_each_button_does_what_it_says(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as page:
        page.wait_for_selector(
            '[aria-label="default/foo-1: deployments, version"]', state="detached"
        )
        page.wait_for_function("Study.current.lines.some((one) => one.resource === 'deployments')")
        for action in live.target.actions:
            page.wait_for_function("!document.querySelector('[data-action]:disabled')")
            with page.expect_response(lambda answer: answer.url.endswith("/act")) as answered:
                page.click(f"[data-action={action.name}]")
            assert "refused" not in answered.value.json(), action.name
            page.wait_for_function(
                "name => Study.current.lines.some((one) => one.action === name)", arg=action.name
            )


def test_two_pages_see_the_same_controller(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as one, opened(browser, url, PHONE) as other:
        one.wait_for_selector("body[data-pace=slow]")
        one.keyboard.press("s")

        other.wait_for_selector("body[data-pace=running]")

        other.click("#slow")
        one.wait_for_selector("body[data-pace=slow]")


def test_a_new_page_begins_now_and_the_first_one_in_slow_motion(
    browser: Any, live: Session
) -> None:
    with served(live) as url, opened(browser, url) as page:
        # No hop of the past is played: the first state that is drawn is that of now.
        page.wait_for_selector(".pill.cached")
        position, count = page.evaluate("[Study.current.position, Study.current.lines.length]")
        past = hops_since(page, 0).index("study.pace")
        assert past <= position <= count
        page.wait_for_selector("body[data-pace=slow]")
        assert page.inner_text("#status") == "slow motion"


def test_ten_edits_are_counted(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as page:
        page.wait_for_selector("body[data-pace=slow]")
        position = page.evaluate("Study.current.lines.length")
        page.click("[data-action=ten-edits]")

        page.wait_for_function("Study.current.state.counted?.over")

        shown = re.fullmatch(
            r"10 edits → 10 events → 10 adds: (\d+) new, (\d+) merged while ready, "
            r"(\d+) merged while processed → (\d) syncs?",
            page.inner_text("#count"),
        )
        assert shown is not None, page.inner_text("#count")
        new, ready, processed, syncs = map(int, shown.groups())
        assert new + ready + processed == 10
        assert hops_since(page, position).count("sync.start") == syncs <= 3


def test_a_page_whose_program_ends_says_so_and_comes_back_on_its_port(
    browser: Any, live: Session
) -> None:
    made = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    page = made.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    with served(live) as url:
        page.goto(url)
        page.wait_for_selector(".pill.cached")
    box = page.wait_for_selector("#gone").bounding_box()
    picture = page.locator("#picture").bounding_box()
    for at, size in (("x", "width"), ("y", "height")):
        middle = picture[at] + picture[size] / 2
        assert box[at] < middle < box[at] + box[size]
    assert "The program has ended" in page.inner_text("#gone")
    port = urlsplit(url).port
    assert f"Start it again with --port {port}," in page.inner_text("#gone")
    assert page.is_disabled("[data-action=scale]")
    assert page.is_disabled("#pause")

    page.click("#look-back")

    assert page.is_hidden("#gone")
    assert page.inner_text("#status") == "the program has ended"
    page.keyboard.press(",")  # one hop back
    with PageServer(Recording(recorded()), title="again", port=port or 0) as again:
        assert again.url == url
        page.wait_for_selector("#name:text-is('again')")
        assert len(problems) <= 1, problems
    made.close()


def test_an_action_that_is_not_possible_says_why(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as page:  # and the console says nothing
        page.wait_for_selector(".pill.cached")
        page.click("[data-action=delete]")
        page.wait_for_function("Study.current.lines.some((one) => one.type === 'DELETED')")

        page.click("[data-action=scale]")

        page.wait_for_selector("#toast.error")
        assert page.inner_text("#toast") == "there is no Foo; create one first"


def test_a_message_is_beside_the_name_and_covers_nothing(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as page:
        page.wait_for_selector(".pill.cached")
        page.click("[data-action=freeze-watch]")
        page.wait_for_selector("#toast:not(:empty)")

        message, bar = (page.locator(one).bounding_box() for one in ("#toast", ".bar"))
        assert message["y"] + message["height"] <= page.locator("main").bounding_box()["y"]
        assert message["x"] + message["width"] <= bar["x"]


ON_SCREEN = """(selector) => [...document.querySelectorAll(selector)]
  .filter((one) => one.checkVisibility())
  .map((one) => {
    const area = one.getBoundingClientRect();
    const x = area.x + area.width / 2, y = area.y + area.height / 2;
    return [one.textContent || one.id, one.contains(document.elementFromPoint(x, y))];
  })"""
"""For each element: its text, and True if its middle is on the screen and nothing covers it."""


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_slider_and_buttons_are_on_the_first_screen(
    browser: Any, live: Session, size: tuple[int, int]
) -> None:
    with served(live) as url, opened(browser, url, size) as page:
        page.wait_for_selector(".pill.cached")

        always = ".bar button, .scrubber button, .scrubber a, #scrub"
        assert [name for name, there in page.evaluate(ON_SCREEN, always) if not there] == []
        actions = page.evaluate(ON_SCREEN, "#actions button")
        assert len(actions) == len(live.target.actions)
        if size is WIDE:
            assert [name for name, there in actions if not there] == []
        else:  # in a row that one scrolls
            page.locator("#actions button").last.scroll_into_view_if_needed()
            assert page.evaluate(ON_SCREEN, "#actions button")[-1][1]
            thumb = page.locator(".bar, .scrubber, #actions").all()
            assert min(one.bounding_box()["y"] for one in thumb) > size[1] * 0.8


def test_the_exported_page_works_without_a_server(browser: Any, replay: str, tmp_path: Any) -> None:
    saved = browser.new_context().request.get(f"{replay}export.html")
    (tmp_path / "saved.html").write_text(saved.text())

    with opened(browser, f"file://{tmp_path}/saved.html") as page:
        seek(page, place_of("fifo.append"))
        assert pills(page, "solid") == [f"{FOO}: 1 deltas: Added"]
