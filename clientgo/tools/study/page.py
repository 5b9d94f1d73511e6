"""The page as files, and as one file that needs no server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from clientgo.tools.study.recording import Recording

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}

_TITLE: Final = re.compile("<title>.*</title>")
_LESSON: Final = "<!-- lesson -->"
_SETUP: Final = '<script type="application/json" id="setup">{}</script>'
_POLICY: Final = re.compile(r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*"')
_INLINE_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="([\w.]+)">')
_SCRIPT: Final = re.compile(r'<script src="([\w.]+)"></script>')
_FOLDER: Final = files("clientgo.tools.study").joinpath("page")


@cache
def names() -> frozenset[str]:
    """Return the names of the files that the page loads."""
    return frozenset(file.name for file in _FOLDER.iterdir() if not file.name.endswith(".html"))


def asset(name: str) -> str | None:
    """Return a file that the page loads; None if it loads no such file."""
    return template(name) if name in names() else None


@cache
def template(name: str) -> str:
    """Return the text of a file of this package's page."""
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")


def index(setup: Mapping[str, Any], lesson: str = "") -> str:
    """Return the page for a server, with what it has to know, and the text of a lesson."""
    page = template("index.html").replace(_LESSON, lesson)
    page = _TITLE.sub(f"<title>{escape(setup['title'])}</title>", page)
    return page.replace(_SETUP, _data("application/json", "setup", [setup]))


def with_files_in(page: str, folder: str) -> str:
    """Return a page that finds its files in a folder, such as ``../page/``."""
    page = _STYLE.sub(lambda found: found[0].replace(found[1], folder + found[1]), page)
    return _SCRIPT.sub(lambda found: found[0].replace(found[1], folder + found[1]), page)


def with_recording(page: str, lines: Iterable[Mapping[str, Any]]) -> str:
    """Return a page that shows these lines."""
    recording = _data("text/plain", "recording", lines)
    return page.replace("<script src=", f"{recording}\n<script src=", 1)


def exported(recording: Recording, title: str) -> str:
    """Return a page that holds a recording, and that needs no server."""
    setup = {"live": False, "title": "clientgo study", "subtitle": title}
    page = _POLICY.sub(lambda found: f'{found[1]}{_INLINE_POLICY}"', index(setup))
    page = with_recording(page, map(json.loads, recording.lines()))
    page = _STYLE.sub(lambda found: f"<style>\n{template(found[1])}</style>", page)
    return _SCRIPT.sub(lambda found: f"<script>\n{template(found[1])}</script>", page)


def _data(kind: str, name: str, values: Iterable[Mapping[str, Any]]) -> str:
    """Return an element with lines of JSON, in which no text can end the element."""
    lines = "\n".join(json.dumps(value).replace("<", "\\u003c") for value in values)
    return f'<script type="{kind}" id="{name}">{lines}</script>'
