"""Controllers run in turn on one API server, here an embedded one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import real_server
from clientgo.testcluster.server import EmbeddedAPIServer


def test_two_controllers_run_in_turn_and_ours_gets_its_ratios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_server, "SAMPLE", 0.1)
    out = tmp_path / "result.json"
    with EmbeddedAPIServer(secure=True) as server:
        kubeconfig = ["--kubeconfig", str(server.kubeconfig)]
        other = f"{sys.executable} -m sample_controller --kubeconfig {server.kubeconfig}"
        arguments = ["--beside", other, "--foos", "3", "--rounds", "1", "--out", str(out)]
        real_server.main([*kubeconfig, *arguments])

    result = json.loads(out.read_text())
    peer = Path(sys.executable).name
    cells = {(each["operation"], each["implementation"]): each for each in result["figures"]}
    for operation in ("until the statuses are written", "processor time for a Foo", "most memory"):
        ours, theirs = cells[operation, "clientgo"], cells[operation, peer]
        assert ours["value"] > 0
        assert ours["ratios"] == {peer: pytest.approx(theirs["value"] / ours["value"])}
    assert "API server" in result["versions"]
