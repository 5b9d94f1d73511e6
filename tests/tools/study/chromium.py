"""A Chromium for tests of pages, and a page in it.

Tests of a module that has no Chromium or no playwright are skipped, with the reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the package playwright is not installed"
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"
)

TIMEOUT = 60_000.0
"""Milliseconds: a bound for a loaded machine, each wait ends when its condition holds."""

WIDE, PHONE = (1280, 800), (390, 844)

OVERLAPS = """() => {
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
"""Returns the labels of the picture that overlap, in pairs."""

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser, with an empty profile."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
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
