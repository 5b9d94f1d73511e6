"""The server as a program."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.apiserver import EmbeddedAPIServer
from tests.apiserver.http_api import Api


def test_it_writes_a_kubeconfig_serves_and_stops_on_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "config" / "kubeconfig"
    command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--kubeconfig", str(path)], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert "listens on http://127.0.0.1:" in program.stdout.readline()

        address = json.loads(path.read_text())["clusters"][0]["cluster"]["server"]
        assert Api(address).get("/api/v1/namespaces/default")["kind"] == "Namespace"

        program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=30) == 0


def test_a_command_finds_the_server_ready_and_ends_it(tmp_path: Path) -> None:
    """KUBECONFIG names the server; the exit status is the command's."""
    program = (
        "import sys\n"
        "from clientgo.api.core_v1 import Namespace; from clientgo.client import Client\n"
        "with Client() as client: print(client.resource(Namespace).get('default').metadata.name)\n"
        "sys.exit(3)"
    )
    command = [sys.executable, "-m", "clientgo", "apiserver", "--kubeconfig", str(tmp_path / "k")]
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[-1] == "default"


def test_a_signal_ends_the_command_and_the_server() -> None:
    command = [sys.executable, "-m", "clientgo", "apiserver", "--", sys.executable, "-c"]
    program = "import time; print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([*command, program], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while server.stdout.readline() != "ready\n":
            pass
        server.send_signal(signal.SIGTERM)

        assert server.wait(timeout=30) == 128 + signal.SIGTERM


def test_an_invalid_command_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["apiserver", "--", "no-such-program"]) == 127
    assert capsys.readouterr().err == (
        "clientgo apiserver: can't run no-such-program: No such file or directory\n"
    )


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:99999"])
def test_an_address_that_it_does_not_listen_on_is_refused(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["apiserver", "--listen", address])

    assert exit_.value.code == 2
    assert "--listen" in capsys.readouterr().err


def test_a_port_in_use_is_reported_in_a_sentence(
    server: EmbeddedAPIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--listen", f"127.0.0.1:{server.port}"])

    assert status == 1
    assert f"can't listen on 127.0.0.1:{server.port}" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--token", "t"], ["--listen", ":8001"]])
def test_listening_for_other_machines_without_a_token_and_tls_is_refused(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--listen", "0.0.0.0:8001", *given])

    assert status == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "--secure" in message
    assert "--token-file" in message


def test_a_certificate_without_its_key_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--listen", "127.0.0.1:0", "--tls-cert", str(tmp_path / "c")])

    assert status == 2
    assert "--tls-key" in capsys.readouterr().err


def test_the_server_starts_without_the_code_generator() -> None:
    """Loading what a command does not need would double the time to ready."""
    code = (
        "import sys\n"
        "from clientgo.__main__ import main\n"
        "try: main(['apiserver', '--help'])\n"
        "except SystemExit: sys.exit('clientgo.codegen' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
