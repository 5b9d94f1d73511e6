"""The page as files, and as one file that needs no server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from clientgo.tools.study.recording import Recording

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}

_SETUP: Final = '<script type="application/json" id="setup">{}</script>'
_POLICY: Final = re.compile(r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*"')
_INLINE_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="([\w.]+)">')
_SCRIPT: Final = re.compile(r'<script src="([\w.]+)"></script>')


@cache
def asset(name: str) -> str | None:
    """Return a file of the page; None if it has no such file."""
    folder = files("clientgo.tools.study").joinpath("page")
    if name not in {file.name for file in folder.iterdir()}:
        return None
    return folder.joinpath(name).read_text(encoding="utf-8")


def index(setup: Mapping[str, Any]) -> str:
    """Return the page for a server, with what it has to know."""
    return _asset("index.html").replace(_SETUP, _data("application/json", "setup", [setup]))


def exported(recording: Recording, title: str) -> str:
    """Return a page that holds a recording, and that needs no server."""
    setup = {"live": False, "title": "clientgo study", "subtitle": title}
    page = _POLICY.sub(lambda found: f'{found[1]}{_INLINE_POLICY}"', index(setup))
    lines = (json.loads(line) for line in recording.lines())
    page = page.replace(
        "<script src=", f"{_data('text/plain', 'recording', lines)}\n<script src=", 1
    )
    page = _STYLE.sub(lambda found: f"<style>\n{_asset(found[1])}</style>", page)
    return _SCRIPT.sub(lambda found: f"<script>\n{_asset(found[1])}</script>", page)


def _asset(name: str) -> str:
    found = asset(name)
    if found is None:
        raise FileNotFoundError(f"the page has no file {name}; is the package complete?")
    return found


def _data(kind: str, name: str, values: Any) -> str:
    """Return an element with lines of JSON, in which no text can end the element."""
    lines = "\n".join(json.dumps(value).replace("<", "\\u003c") for value in values)
    return f'<script type="{kind}" id="{name}">{lines}</script>'
