"""The controller that the README begins with: it stands there as it is, and it runs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from tests.examples.running import ROOT, Running, kubeconfig_of

EXAMPLE = ROOT / "examples" / "first_controller.py"


def test_the_readme_shows_the_example_as_it_is() -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in (ROOT / "README.md").read_text()


def test_the_commands_of_the_readme_run_as_they_stand_there(tmp_path: Path) -> None:
    """The server is ready before the controller starts, and Ctrl-C stops both."""
    readme = (ROOT / "README.md").read_text()
    start, apply = (
        _command_beginning(readme, text, tmp_path)
        for text in (".venv/bin/clientgo apiserver", "kubectl --kubeconfig")
    )
    (expected,) = re.findall(r"prints `(greeted .*)`", readme)
    with subprocess.Popen(
        f"exec {start}",
        shell=True,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        lines = iter(running.stdout.readline, "")
        try:
            assert any(str(tmp_path / "kubeconfig") in line for line in lines)
            subprocess.run(apply, shell=True, cwd=ROOT, check=True, timeout=60)
            assert next(lines) == f"{expected}\n"
        finally:
            os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) == 0


def _command_beginning(readme: str, text: str, directory: Path) -> str:
    """A command of the README, with this interpreter's programs and its files in a directory."""
    command: str
    block = rf"^```sh\n({re.escape(text)}.*?)^```"
    (command,) = re.findall(block, readme, re.DOTALL | re.MULTILINE)
    programs = f"{Path(sys.executable).parent}/"
    command = command.replace("./kubeconfig", f"{directory}/kubeconfig").replace(
        ".venv/bin/", programs
    )
    if shutil.which("kubectl") is None:
        kubectl = f"{sys.executable} {Path(__file__).with_name('kubectl_apply.py')}"
        command = re.sub(r"^kubectl\b", kubectl, command)
    return command


@pytest.mark.parametrize("example", ["first_controller.py", "from_parts.py", "control_loop.py"])
def test_it_greets_what_carries_the_label_and_ends_with_the_first_signal(example: str) -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        for name, labels in (("world", {"greet": "yes"}), ("other", {})):
            config_maps.create(ConfigMap(metadata=ObjectMeta(name=name, labels=labels)))
        with Running(example, env=kubeconfig_of(server)) as running:
            with Observer(client, ConfigMap) as observer:
                seen = observer.lister(ConfigMap).namespace("default")
                assert observer.wait_until(lambda: "hello" in (seen.get("world").data or {}))
                assert not seen.get("other").data
            output = running.stop()

    assert output == ["greeted default/world"]


@pytest.mark.parametrize("example", ["from_parts.py", "control_loop.py"])
def test_it_says_which_objects_are_deleted(example: str) -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        config_maps.create(ConfigMap(metadata=ObjectMeta(name="world", labels={"greet": ""})))
        with Running(example, env=kubeconfig_of(server)) as running:
            assert running.readline() == "greeted default/world"
            config_maps.delete("world")
            assert running.readline() == "default/world is deleted"
            running.stop()


def test_the_programs_are_as_short_as_the_page_says() -> None:
    """The one from parts is as long as client-go's example of a work queue, in lines of code."""
    assert _lines_of_code("from_parts.py") <= 46
    assert _lines_of_code("control_loop.py") == 17


def _lines_of_code(example: str) -> int:
    lines = (ROOT / "examples" / example).read_text().splitlines()[1:]
    return len([line for line in lines if line.strip()])
