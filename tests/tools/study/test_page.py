"""The page in a browser: what is shown, what the buttons do, and that nothing leaves the machine.

Needs a Chromium and the package playwright; skipped without them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import pytest

from clientgo.tools.study.recording import Recording
from clientgo.tools.study.server import PageServer
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import foo_target
from tests.tools.study.hops import FOO, place_of, recorded

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the package playwright is not installed"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

TIMEOUT = 60_000.0
"""Milliseconds: a bound for a loaded machine, each wait ends when its condition holds."""

WIDE, PHONE = (1280, 800), (380, 800)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, url: str, size: tuple[int, int] = WIDE, **context: Any) -> Iterator[Any]:
    """Open a page; fail if it logs an error or asks another host for anything.

    The page's policy is not in force, because it keeps playwright from waiting for conditions.
    """
    width, height = size
    options = {"viewport": {"width": width, "height": height}, "bypass_csp": True} | context
    made = browser.new_context(**options)
    made.set_default_timeout(TIMEOUT)
    page = made.new_page()
    problems: list[str] = []
    asked: set[str] = set()
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    page.goto(url)
    try:
        yield page
        assert problems == []
        assert asked == {urlsplit(url).netloc}
    finally:
        made.close()


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
        assert page.inner_text("#caption") == "DeltaFIFO gets added foo-1"
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
        overlaps = page.evaluate(
            """() => {
              const texts = [...document.querySelectorAll("#picture text")]
                .filter((one) => one.textContent && !one.closest(".leaving, .comet"))
                .map((one) => [one.textContent, one.getBoundingClientRect()]);
              const found = [];
              texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
                const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
                const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
                if (x > 1 && y > 4) found.push(`${a} / ${b}`);
              }));
              return found;
            }"""
        )
        assert overlaps == []


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
    with Session(foo_target(), Recording(), beside=lambda _: nullcontext()) as session:
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
            page.wait_for_selector('.station.held[data-place="fifo:Foo"]')
            held = {one.number for one in live.pacing.held()}
            position = page.evaluate("Study.current.lines.length")

            page.click("#step")

            page.wait_for_function(
                f"Study.current.lines.slice({position}).some((one) => one.hop === 'queue.add')"
            )
            page.wait_for_selector('.station.held[data-place^="worker:"]')
            assert len(held - {one.number for one in live.pacing.held()}) == 1
            released = hops_since(page, position).count("study.released")
            assert (released, "sync.start" in hops_since(page, position)) == (1, False)
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
            assert answered.value.ok, f"{action.name}: {answered.value.text()}"
            page.wait_for_function(
                "name => Study.current.lines.some((one) => one.action === name)", arg=action.name
            )


def test_two_pages_see_the_same_controller(browser: Any, live: Session) -> None:
    with served(live) as url, opened(browser, url) as one, opened(browser, url, PHONE) as other:
        one.wait_for_selector(".pill.cached")
        one.keyboard.press("s")

        other.wait_for_selector("body[data-pace=slow]")

        other.click("#slow")
        one.wait_for_selector("body[data-pace=running]")


def test_the_exported_page_works_without_a_server(browser: Any, replay: str, tmp_path: Any) -> None:
    saved = browser.new_context().request.get(f"{replay}export.html")
    (tmp_path / "saved.html").write_text(saved.text())

    with opened(browser, f"file://{tmp_path}/saved.html") as page:
        seek(page, place_of("fifo.append"))
        assert pills(page, "solid") == [f"{FOO}: 1 deltas: Added"]
