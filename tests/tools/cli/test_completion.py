"""``clientgo completion``: the words that a shell proposes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.util.text.completion import REQUEST


def words(capsys: pytest.CaptureFixture[str], *typed: str) -> list[str]:
    assert main([REQUEST, *typed]) == 0
    return capsys.readouterr().out.split()


def test_the_first_word_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"apiserver", "watch", "gen"} <= set(words(capsys, ""))
    assert words(capsys, "wat") == ["watch"]


def test_a_command_proposes_its_parts_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert words(capsys, "operator", "gen", "r") == ["rbac"]
    assert words(capsys, "watch", "--all") == ["--all-namespaces"]
    assert words(capsys, "watch", "pods", "--sel") == ["--selector"]


def test_an_option_proposes_its_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert "conflict" in words(capsys, "perturb", "m:f", "--perturbation", "")
    assert words(capsys, "operator", "gen", "all", "--certs", "c") == ["cert-manager"]


def test_where_a_value_is_free_the_shell_proposes_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert words(capsys, "watch", "--kubeconfig", "") == []
    assert words(capsys, "watch", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_accepts_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main(["completion", shell]) == 0

    subprocess.run([shell, "-n"], input=capsys.readouterr().out, text=True, check=True, timeout=60)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    (tmp_path / "clientgo").write_text(f'#!/bin/sh\nexec {sys.executable} -m clientgo "$@"\n')
    (tmp_path / "clientgo").chmod(0o755)
    script = capsys.readouterr().out + (
        "COMP_WORDS=(clientgo watch --all); COMP_CWORD=2; _clientgo; echo ${COMPREPLY[@]}"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert done.stdout == "--all-namespaces\n"
