"""The pages on clients and events: what they show runs, from top to bottom, and is so."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clientgo.apiserver import EmbeddedAPIServer
from tests.examples.running import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["clients.md", "events.md"])
def test_a_page_does_what_it_says(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / page).read_text()
    shared: dict[str, Any] = {"__name__": "example"}
    with EmbeddedAPIServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))

        for found in _BLOCK.finditer(text):
            line = text[: found.start()].count("\n") + 1
            exec(compile("\n" * line + found[1], page, "exec"), shared)

        shared["client"].close()
    assert len(_BLOCK.findall(text)) >= 4
