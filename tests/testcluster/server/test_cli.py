"""The server as a program."""

from __future__ import annotations

import base64
import json
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import urllib3

from clientgo.__main__ import main
from clientgo.api.core_v1 import Namespace
from clientgo.client import Client
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import Api

COMMAND = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, when it is ready, and its URL."""
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        found = re.search(r"listens on (\S+)\. ", program.stdout.readline())
        assert found is not None
        program.stdout.readline()
        try:
            yield program, found[1]
        finally:
            program.kill()


def test_it_writes_a_kubeconfig_serves_and_stops_on_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "config" / "kubeconfig"
    with running("--kubeconfig", str(path)) as (program, _):
        with Client(load_config(str(path))) as client:
            assert client.resource(Namespace).get("default").metadata.name == "default"

        program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=30) == 0


def test_it_asks_for_the_token_of_the_kubeconfig_also_on_loopback(tmp_path: Path) -> None:
    """kubectl sends tokens over TLS only, so the program uses TLS."""
    path = tmp_path / "kubeconfig"
    with running("--kubeconfig", str(path), "--faults") as (_, url):
        context = ssl.create_default_context(cadata=_authority(path))
        with urllib3.PoolManager(ssl_context=context) as pool:
            answers = [pool.request("GET", url + path) for path in ("/api", "/clientgo/faults")]

    assert [answer.status for answer in answers] == [401, 401]
    assert json.loads(path.read_text())["users"][0]["user"]["token"]


def _authority(kubeconfig: Path) -> str:
    cluster = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]
    return base64.b64decode(cluster["certificate-authority-data"]).decode()


def test_insecure_loopback_is_plain_http_without_a_token() -> None:
    with running("--insecure-loopback") as (_, url):
        assert url.startswith("http://127.0.0.1:")
        assert Api(url).get("/api/v1/namespaces/default")["kind"] == "Namespace"


def test_hosts_and_origins_can_be_allowed() -> None:
    allowed = ("--allow-host", "api.internal", "--allow-origin", "http://localhost:3000")
    with running("--insecure-loopback", *allowed) as (_, url):
        by_name = urllib3.request("GET", f"{url}/version", headers={"Host": "api.internal"})
        by_page = urllib3.request(
            "GET", f"{url}/version", headers={"Origin": "http://localhost:3000"}
        )

    assert (by_name.status, by_page.status) == (200, 200)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_two_signals_that_come_together(second: signal.Signals) -> None:
    """A handler that sets an event could find the event's lock held, by the thread it stops."""
    with ExitStack() as stack:
        programs = [stack.enter_context(running("--insecure-loopback"))[0] for _ in range(4)]
        for program in programs:
            program.send_signal(signal.SIGINT)
            program.send_signal(second)

        for program in programs:
            program.wait(timeout=30)


def test_two_signals_end_a_command_too() -> None:
    program = "import time; print('ready', flush=True); time.sleep(60)"
    command = [*COMMAND, "--", sys.executable, "-c", program]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert "ready\n" in iter(server.stdout.readline, "")
            server.send_signal(signal.SIGINT)
            server.send_signal(signal.SIGTERM)

            assert server.wait(timeout=30) == 128 + signal.SIGTERM


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
        assert "ready\n" in iter(server.stdout.readline, "")
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


def test_an_unknown_mode_of_authorization_names_the_modes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["apiserver", "--authorization-mode", "Node"])

    message = capsys.readouterr().err
    assert "'AlwaysAllow'" in message
    assert "AuthorizationMode" not in message


def test_a_port_in_use_is_reported_in_a_sentence(
    server: EmbeddedAPIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--listen", f"127.0.0.1:{server.port}"])

    assert status == 1
    error = capsys.readouterr().err
    assert f"can't listen on 127.0.0.1:{server.port}" in error
    assert error.endswith("; choose another address with --listen\n")


@pytest.mark.parametrize("given", [["--listen", "0.0.0.0:8001"], ["--listen", ":8001"]])
def test_listening_for_other_machines_without_a_token_and_tls_is_refused(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--insecure-loopback", *given])

    assert status == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "--insecure-loopback" in message
    assert "--token-file" in message


def test_a_token_over_plain_http_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """kubectl would not send it."""
    assert main(["apiserver", "--insecure-loopback", "--token", "t"]) == 2
    assert "--insecure-loopback goes with neither a token" in capsys.readouterr().err


def test_rbac_over_plain_http_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apiserver", "--insecure-loopback", "--authorization-mode", "RBAC"]) == 2
    assert "--authorization-mode=RBAC, which needs them" in capsys.readouterr().err


def test_users_of_a_token_file_are_authorized_by_rbac(tmp_path: Path) -> None:
    tokens, path = tmp_path / "tokens.csv", tmp_path / "kubeconfig"
    tokens.write_text('sesame,jane,1,"system:masters"\nother,joe,2\n')
    options = ("--authorization-mode", "RBAC", "--token-file", str(tokens))
    with running(*options, "--kubeconfig", str(path)) as (_, url):
        context = ssl.create_default_context(cadata=_authority(path))
        admin = json.loads(path.read_text())["users"][0]["user"]["token"]
        with urllib3.PoolManager(ssl_context=context) as pool:
            answers = [
                pool.request("GET", f"{url}/api/v1/nodes", headers={"Authorization": f"Bearer {t}"})
                for t in (admin, "sesame", "other", "wrong")
            ]

    assert [answer.status for answer in answers] == [200, 200, 403, 401]


def test_a_certificate_without_its_key_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["apiserver", "--listen", "127.0.0.1:0", "--tls-cert", str(tmp_path / "c")])

    assert status == 2
    assert "--tls-key" in capsys.readouterr().err


def test_the_server_starts_without_what_it_does_not_need() -> None:
    """Loading the code generator and what only writes need would double the time to ready."""
    code = (
        "import sys\n"
        "from clientgo.__main__ import main\n"
        "tables = 'clientgo.testcluster.server.kinds.tables.validation.checks'\n"
        "unneeded = {'clientgo.codegen', tables, 'csv', 'yaml', 'zoneinfo'}\n"
        "try: main(['apiserver', '--help'])\n"
        "except SystemExit: sys.exit(', '.join(unneeded.intersection(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_kubeconfig_is_not_written_through_a_link_that_others_can_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared, precious = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    shared.chmod(0o1777)
    precious.write_text("precious")
    path = shared / "kubeconfig"
    path.symlink_to(precious)

    assert main(["apiserver", "--listen", "127.0.0.1:0", "--kubeconfig", str(path)]) == 1

    assert capsys.readouterr().err == (
        f"clientgo apiserver: can't write {path}: it leads through the link {path}, in a directory "
        "that others can write; choose a path in a directory of your own\n"
    )
    assert precious.read_text() == "precious"
