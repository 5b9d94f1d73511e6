"""A new operator, from nothing to running, as its author does it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def _shell(command: str, folder: Path, **environment: str) -> str:
    # A make around the tests would make the one here talk of directories.
    ours = ("KUBECONFIG", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a second kind and webhooks, begun by a command of its own process."""
    folder = tmp_path_factory.mktemp("empty")
    source = str(Path(__file__).parents[4])
    command = f"{sys.executable} -m clientgo operator"
    _shell(f"{command} init demo", folder, PYTHONPATH=source)
    for addition in ("create-api Backup", "create-webhook Demo", "gen all"):
        _shell(f"{command} {addition}", folder / "demo", PYTHONPATH=source)
    return folder / "demo"


def test_make_run_reconciles_the_samples_on_a_server_in_memory(project: Path) -> None:
    """OP-GEN-21, OP-GEN-23: no environment is made, nothing is fetched."""
    said = _shell("make run ONCE=1", project)

    assert "Demo default/demo-sample:" in said
    assert "Backup default/backup-sample:" in said
    assert said.rstrip().endswith("reconciled.")


def test_the_tests_of_a_new_project_pass(project: Path) -> None:
    """OP-GEN-23"""
    said = _shell("make test", project)

    assert "11 passed" in said
