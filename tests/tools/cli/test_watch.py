"""``clientgo watch``: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import argparse
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clientgo.__main__ import main
from clientgo.client import Client
from clientgo.meta import Unstructured
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.cli.watch import state, table, watch
from tests.background import Background


class Output(io.StringIO):
    """Text that can be waited for."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self._changed = threading.Condition()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        with self._changed:
            self._changed.notify_all()
            return super().write(text)

    def wait_for(self, seen: Callable[[str], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: seen(self.getvalue()), 30), self.getvalue()


@contextmanager
def watching(client: Client, out: Output, **options: Any) -> Iterator[None]:
    given = {"kind": "cm", "namespace": "default", "all_namespaces": False, "selector": "own"}
    stop = threading.Event()
    thread = Background(lambda: watch(client, argparse.Namespace(**given | options), stop, out))
    try:
        yield
    finally:
        stop.set()
        assert thread.result() == 0


def make(client: Client, name: str) -> None:
    labels = {"own": "yes"}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    manifest["metadata"] = {"name": name, "labels": labels}
    kind = client.mapper.resource("configmaps")
    client.resource(kind).namespace("default").create(Unstructured.from_dict(manifest))


def test_without_a_terminal_each_change_is_a_line(kube_client: Client) -> None:
    make(kube_client, "a")
    out = Output(terminal=False)
    with watching(kube_client, out):
        out.wait_for(lambda text: "ADDED\tdefault\ta\t-\t" in text)
        maps = kube_client.resource(kube_client.mapper.resource("cm")).namespace("default")
        maps.patch("a", {"data": {"k": "v"}})
        out.wait_for(lambda text: "MODIFIED\tdefault\ta\t" in text)
        maps.delete("a")
        out.wait_for(lambda text: "DELETED\tdefault\ta\t" in text)
    assert len(out.getvalue().splitlines()) == 3


def test_on_a_terminal_the_table_is_drawn_again(
    kube_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    make(kube_client, "a")
    out = Output(terminal=True)
    with watching(kube_client, out):
        out.wait_for(lambda text: "configmaps: 1; press Ctrl-C to stop" in text)
        make(kube_client, "b")
        out.wait_for(lambda text: "configmaps: 2; press Ctrl-C to stop" in text)
    last = out.getvalue().rpartition("\x1b[J")[2].splitlines()
    assert last[1].split() == ["NAMESPACE", "NAME", "STATE", "VERSION", "AGE"]
    assert [line.split()[:3] for line in last[2:]] == [["default", "a", "-"], ["default", "b", "-"]]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (None, "-"),
        ({"phase": "Running"}, "Running"),
        ({"replicas": 3, "readyReplicas": 1}, "1/3"),
        ({"replicas": 3}, "0/3"),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "Ready"),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, "-"),
        ({"conditions": None}, "-"),
    ],
)
def test_the_state_is_one_word(status: Any, shown: str) -> None:
    assert state(status) == shown


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    lines = table([("default", "a-long-name-of-an-object", "-", "1", "2s")]).splitlines()

    assert lines[0].index("STATE") == lines[1].index("  -  ") + 2


def test_it_ends_with_the_program_that_reads_its_lines(kube_client: Client) -> None:
    """As in ``clientgo watch pods | head -1``."""
    make(kube_client, "a")
    out = Output(terminal=False)

    def broken(text: str) -> int:
        raise BrokenPipeError

    out.write = broken  # type: ignore[method-assign]
    arguments = argparse.Namespace(
        kind="cm", namespace="default", all_namespaces=False, selector=""
    )
    with pytest.raises(BrokenPipeError):
        watch(kube_client, arguments, threading.Event(), out)


def test_mistakes_are_one_line(
    kube_api_server: EmbeddedAPIServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = ["--kubeconfig", str(kube_api_server.kubeconfig)]

    assert main(["watch", "foobars", *config]) == 2
    assert main(["watch", "cm", "--kubeconfig", str(tmp_path / "nothing")]) == 2
    assert main(["watch", "tokenreviews", *config]) == 2
    assert main(["watch", "cm", "-l", "a=b=c", *config]) == 1

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[2] == "clientgo watch: tokenreviews cannot be watched; name another kind"
    assert all(line.startswith("clientgo watch: ") for line in lines)
