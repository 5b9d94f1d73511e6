"""Running the Python blocks of a page, and comparing what they print."""

from __future__ import annotations

import io
import os
import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import Context
from pathlib import Path
from typing import Any

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.docs.pages import Block, blocks_of


def runs(block: Block) -> bool:
    """Return True for a Python block that runs with its page."""
    return block.language == "python" and not block.mark


def run_page(page: Path) -> list[tuple[Block, str]]:
    """Run the Python blocks of a page; return each ``output`` block with what was printed."""
    return Context().run(_run_page, page)  # context variables of other pages do not count


def _run_page(page: Path) -> list[tuple[Block, str]]:
    outputs: list[tuple[Block, str]] = []
    module = types.ModuleType("example")
    shared: dict[str, Any] = vars(module)
    printed = io.StringIO()
    with EmbeddedAPIServer() as server, _kubeconfig(str(server.kubeconfig)):
        sys.modules[module.__name__] = module  # where the annotations of its classes are resolved
        try:
            for block in blocks_of(page):
                if runs(block):
                    source = "\n" * block.line + block.code
                    with redirect_stdout(printed):
                        exec(compile(source, block.page, "exec"), shared)
                elif block.mark == "output":
                    outputs.append((block, printed.getvalue()))
                    printed.seek(0)
                    printed.truncate()
        finally:
            del sys.modules[module.__name__]
            client = shared.get("client")
            if hasattr(client, "close"):
                client.close()
    return outputs


def comparable(text: str) -> list[str]:
    """The lines of an output, without what differs from run to run: times, versions, ports."""
    text = re.sub(r"\d+\.\d+|\b\d{4}-\d\d-\d\dT[\d:.]+Z|127\.0\.0\.1:\d+", "#", text)
    text = re.sub(r"(?<=seconds=)\S+|(?<=worker-)\d+", "#", text)
    text = re.sub(r"(?<=ersion=)\d+|(?<=@)\d+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "#", text)
    return [re.sub(r" +", " ", line).strip() for line in text.strip().splitlines()]


@contextmanager
def _kubeconfig(path: str) -> Iterator[None]:
    before = os.environ.get("KUBECONFIG")
    os.environ["KUBECONFIG"] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ["KUBECONFIG"]
        else:
            os.environ["KUBECONFIG"] = before
