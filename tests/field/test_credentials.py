"""Credentials that change, hang and fail while a program runs."""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import threading
from pathlib import Path

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.rest import CredentialsError, RestConfig
from clientgo.rest.config.kubeconfig_types import AuthProvider, Cluster, ExecPlugin, User
from clientgo.rest.config.user_credentials import credentials_of
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import ScriptedServer, answer_json, answer_status
from tests.background import Background
from tests.field.objects import NAMESPACE, listing, pod
from tests.field.scenario import Field

TLS = Path(__file__).parent.parent / "data" / "tls"
V1 = "client.authentication.k8s.io/v1"
METADATA = "/.well-known/openid-configuration"


@pytest.fixture(autouse=True)
def _one_pod(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("a"))))


def client_as(user: User, field: Field, clock: FakeClock | None = None) -> Client:
    cluster = Cluster(server=field.server.url)
    options = {} if clock is None else {"clock": clock}
    credentials = credentials_of(user, cluster, **options)
    return Client(RestConfig(server=field.server.url, qps=-1, credentials=credentials))


def list_pods(client: Client, stop: threading.Event | None = None) -> list[str]:
    pods = client.resource(Pod).namespace(NAMESPACE).list(stop=stop)
    return [each.metadata.name for each in pods.items]


def tokens_sent(server: ScriptedServer) -> list[str]:
    return [r.headers.get("authorization", "").removeprefix("Bearer ") for r in server.requests]


def plugin(tmp_path: Path, script: str) -> User:
    """A user whose plugin leaves a line in the file ``runs`` and then runs this."""
    path = tmp_path / "plugin"
    path.write_text(f"#!/bin/sh\necho run >>{tmp_path}/runs\n{script}\n")
    path.chmod(0o755)
    return User(exec=ExecPlugin(command=str(path), api_version=V1, interactive_mode="Never"))


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text().splitlines())


def print_token(**status: str) -> str:
    return f"echo '{json.dumps({'apiVersion': V1, 'status': {'token': 't'} | status})}'"


def test_a_token_whose_file_is_replaced_goes_on(field: Field, tmp_path: Path):
    """FIELD-61: the file may be away for a moment; a 401 has it read again."""
    path = tmp_path / "token"
    path.write_text("first\n")
    clock = FakeClock()
    with client_as(User(token_file=str(path)), field, clock) as client:
        path.unlink()
        clock.step(60)
        list_pods(client)
        path.write_text("first\n")
        list_pods(client)
        path.write_text("second\n")
        field.pods.on_list(answer_status(401, "Unauthorized"), answer_json(listing(pod("a"))))
        list_pods(client)

    assert tokens_sent(field.server) == ["first", "first", "first", "second"]


def test_no_token_goes_over_plain_http_to_another_machine():
    """FIELD-62: kubectl sends none either."""
    anywhere = Cluster(server="http://10.0.0.1:8080")

    assert credentials_of(User(token="t"), anywhere).current().authorization == ""


def test_the_token_of_a_plugin_is_used_until_it_expires(field: Field, tmp_path: Path):
    """FIELD-63: a minute is a minute, as for kubectl."""
    clock = FakeClock()
    user = plugin(tmp_path, print_token(expirationTimestamp="2000-01-01T00:01:00Z"))
    with client_as(user, field, clock) as client:
        list_pods(client)
        clock.step(60)
        list_pods(client)

    assert tokens_sent(field.server) == ["t", "t"]
    assert runs(tmp_path) == 1


def test_a_process_that_a_plugin_leaves_behind_holds_up_nothing(field: Field, tmp_path: Path):
    """FIELD-64."""
    user = plugin(tmp_path, f"sleep 600 & echo $! >{tmp_path}/pid\n{print_token()}")
    try:
        with client_as(user, field) as client:
            assert Background(lambda: list_pods(client)).result() == ["a"]
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_stop_ends_the_wait_for_a_plugin_that_hangs(field: Field, tmp_path: Path):
    """FIELD-65: and the plugin."""
    os.mkfifo(tmp_path / "held")
    stop = threading.Event()
    with client_as(plugin(tmp_path, f"exec sleep 600 2>{tmp_path}/held"), field) as client:
        call = Background(lambda: list_pods(client, stop))
        with open(tmp_path / "held") as held:
            stop.set()
            assert held.read() == ""  # nobody has it any more
        with pytest.raises(Exception, match="stopped before it was sent"):
            call.result()


def test_a_plugin_that_fails_is_not_run_in_a_rush(field: Field, tmp_path: Path):
    """FIELD-66: its failure serves all requests that wait, and pauses follow."""
    user = plugin(tmp_path, "echo 'log in first' >&2; exit 1")
    with client_as(user, field, FakeClock()) as client:
        for _ in range(20):
            with pytest.raises(CredentialsError, match="failed with exit status 1: log in first"):
                list_pods(client)

    assert runs(tmp_path) == 4
    assert field.server.requests == []


def jwt(expires: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode()
    return f"header.{claims.rstrip('=')}.signature"


def oidc(issuer: ScriptedServer, id_token: str) -> User:
    config = {
        "idp-issuer-url": issuer.url,
        "client-id": "me",
        "id-token": id_token,
        "refresh-token": "first",
    }
    return User(auth_provider=AuthProvider(name="oidc", config=config))


def test_an_issuer_that_takes_each_refresh_token_once_is_asked_with_the_newest(field: Field):
    """FIELD-67."""
    clock = FakeClock(wall=0.0)
    with ScriptedServer() as issuer:
        issuer.on(METADATA, answer_json({"token_endpoint": f"{issuer.url}/token"}))
        issuer.on(
            "/token",
            answer_json({"id_token": jwt(100), "refresh_token": "second"}),
            answer_json({"id_token": jwt(200)}),
        )
        with client_as(oidc(issuer, jwt(0)), field, clock) as client:
            list_pods(client)
            clock.step(100)
            list_pods(client)
        asked = [r.body.decode() for r in issuer.requests if r.path == "/token"]

    assert tokens_sent(field.server) == [jwt(100), jwt(200)]
    assert [body.split("refresh_token=")[1].split("&")[0] for body in asked] == ["first", "second"]


def test_an_issuer_whose_certificate_is_not_trusted_gets_nothing(field: Field):
    """FIELD-68."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    with ScriptedServer(tls=context) as issuer, client_as(oidc(issuer, jwt(0)), field) as client:
        with pytest.raises(CredentialsError, match="its certificate is not trusted"):
            list_pods(client)

        assert issuer.requests == []
    assert field.server.requests == []
