"""Kubeconfigs, good and bad: our answer, and kubectl's for the same file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.rest import ConfigError, RestClient, load_config
from tests.rest.kubeconfig_cases import Case, Servers, cases, write

CASES = cases()
VERSION = "/version"
SECRETS = ("secret", "c2VjcmV0")


@pytest.fixture(name="servers")
def _servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.close()


@pytest.mark.parametrize("name", CASES)
def test_a_kubeconfig_is_read_as_the_table_says(
    name: str, tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    written = write(case, tmp_path, servers)
    monkeypatch.setenv("KUBECONFIG", written.listed)

    if "refused" in case:
        with pytest.raises(ConfigError) as caught:
            load_config(written.path)
        text = str(caught.value)
        assert case["refused"] in text
        assert str(tmp_path) in text or "://" in text
        assert "\n" not in text
        assert not any(secret in text for secret in SECRETS)
    else:
        client = RestClient(load_config(written.path))
        client.get().absolute_path(VERSION).do()
        client.close()
        assert_sent(case, servers)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", CASES)
def test_kubectl_answers_as_the_table_says(name: str, tmp_path: Path, servers: Servers) -> None:
    case = CASES[name]
    written = write(case, tmp_path, servers)
    source = ["--kubeconfig", str(written.path)] if written.path else []
    done = subprocess.run(
        ["kubectl", "--request-timeout=30", *source, "get", "--raw", "/version"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "KUBECONFIG": written.listed,
        },
    )

    answer = case.get("kubectl", "accepts")
    output = done.stdout + done.stderr
    if answer == "accepts":
        assert done.returncode == 0, output
        if "differs" not in case:
            assert_sent(case, servers)
    else:
        assert any(each in output for each in answer.split("|")), output
        assert done.returncode != 0


def assert_sent(case: Case, servers: Servers) -> None:
    sent = servers.last_request()
    assert {key: sent.get(key) for key in case["sends"]} == case["sends"]


def test_each_case_says_what_it_is() -> None:
    """Exactly one answer of ours; a reason where an accepted file has another answer."""
    for name, case in CASES.items():
        assert ("sends" in case) != ("refused" in case), name
        assert ("differs" in case) == ("sends" in case and "kubectl" in case), name
