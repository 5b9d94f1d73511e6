"""The controller that the README begins with: it stands there as it is, and it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from clientgo.api.core_v1 import ConfigMap
from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testing.observer import Observer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "first_controller.py"


def test_the_readme_shows_the_example_as_it_is() -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in (ROOT / "README.md").read_text()


def test_it_greets_what_carries_the_label_and_ends_with_the_first_signal() -> None:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        for name, labels in (("world", {"greet": "yes"}), ("other", {})):
            config_maps.create(ConfigMap(metadata=ObjectMeta(name=name, labels=labels)))
        controller = subprocess.Popen(
            [sys.executable, str(EXAMPLE)],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            with Observer(client, ConfigMap) as observer:
                seen = observer.lister(ConfigMap).namespace("default")
                assert observer.wait_until(lambda: "hello" in (seen.get("world").data or {}))
                assert not seen.get("other").data
        finally:
            controller.send_signal(signal.SIGINT)
            output, _ = controller.communicate(timeout=30)

    assert (controller.returncode, output) == (0, "greeted default/world\n")
