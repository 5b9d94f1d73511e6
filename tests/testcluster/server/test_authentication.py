"""Who is admitted, over TLS or not, and what the kubeconfig of a client has."""

from __future__ import annotations

import base64
import json
import ssl
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from clientgo.observe.serving import ServingCertificate
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.auth.authentication.shared_token import (
    SharedToken,
    check_exposure,
    keep_token,
    read_token,
)
from clientgo.testcluster.server.certificates import keep_self_signed

NAMESPACES = "/api/v1/namespaces"
_TLS = Path(__file__).parents[2] / "data/tls"


@pytest.fixture(scope="module")
def secure() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer("0.0.0.0", secure=True) as server:
        yield server


def authority_of(server: EmbeddedAPIServer) -> str:
    cluster = server.kubeconfig_data["clusters"][0]["cluster"]
    return base64.b64decode(cluster["certificate-authority-data"]).decode()


def ask(
    server: EmbeddedAPIServer, path: str, authorization: str | None = None
) -> urllib3.BaseHTTPResponse:
    context = ssl.create_default_context(cadata=authority_of(server))
    headers = {} if authorization is None else {"Authorization": authorization}
    with urllib3.PoolManager(ssl_context=context) as pool:
        return pool.request("GET", server.url + path, headers=headers, retries=False)


def token_of(server: EmbeddedAPIServer) -> str:
    token = server.kubeconfig_data["users"][0]["user"]["token"]
    assert isinstance(token, str)
    return token


def test_a_client_that_shows_the_token_is_admitted(secure: EmbeddedAPIServer) -> None:
    assert ask(secure, NAMESPACES, f"Bearer {token_of(secure)}").status == 200


@pytest.mark.parametrize(
    "shown", [None, "", "Bearer", "Bearer wrong", "Basic {}", "{}", "Bearer \xe9"]
)
@pytest.mark.parametrize("path", [NAMESPACES, "/version", "/apis", "/nonsense"])
def test_a_client_without_the_token_gets_the_status_of_a_real_server(
    secure: EmbeddedAPIServer, shown: str | None, path: str
) -> None:
    authorization = None if shown is None else shown.replace("{}", token_of(secure))

    answer = ask(secure, path, authorization)

    assert answer.status == 401
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


def test_health_checks_need_no_token(secure: EmbeddedAPIServer) -> None:
    assert ask(secure, "/readyz").data == b"ok"


def test_the_kubeconfig_is_for_its_owner_alone(secure: EmbeddedAPIServer) -> None:
    assert stat.S_IMODE(secure.kubeconfig.stat().st_mode) == 0o600


def test_plain_http_to_a_server_with_tls_is_not_answered(secure: EmbeddedAPIServer) -> None:
    with pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.request("GET", secure.url.replace("https", "http") + "/readyz", retries=False)


def test_a_stop_does_not_wait_for_idle_clients_to_end_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clientgo.testcluster.server.http.server._SHUTDOWN_GRACE", 60.0)
    server = EmbeddedAPIServer(secure=True).start()
    trusted = ssl.create_default_context(cadata=authority_of(server))
    with urllib3.PoolManager(ssl_context=trusted) as pool:
        assert pool.request("GET", f"{server.url}/readyz").status == 200
        before = time.monotonic()

        server.stop()

    assert time.monotonic() - before < 30


def test_the_token_and_the_trust_survive_a_restart() -> None:
    with EmbeddedAPIServer(secure=True) as server:
        before = server.kubeconfig_data

        server.restart()

        assert server.kubeconfig_data == before
        assert ask(server, NAMESPACES, f"Bearer {token_of(server)}").status == 200


def test_the_token_and_the_trust_are_kept_with_the_data(tmp_path: Path) -> None:
    users_and_trust = []
    for _ in range(2):
        with EmbeddedAPIServer(secure=True, data_dir=tmp_path) as server:
            config = server.kubeconfig_data
            cluster = config["clusters"][0]["cluster"]
            users_and_trust.append((config["users"], cluster["certificate-authority-data"]))

    assert users_and_trust[0] == users_and_trust[1]
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("token", "server.key")} == {
        0o600
    }


def test_a_token_and_a_certificate_may_be_given() -> None:
    certificate = ServingCertificate(_TLS / "server.crt", _TLS / "server.key", _TLS / "ca.crt")

    with EmbeddedAPIServer(token="sesame", certificate=certificate) as server:
        assert ask(server, NAMESPACES, "Bearer sesame").status == 200


def test_a_token_alone_is_asked_for_on_loopback() -> None:
    with EmbeddedAPIServer(token="sesame") as server:
        assert urllib3.request("GET", server.url + NAMESPACES).status == 401
        assert json.loads(server.kubeconfig.read_text())["users"][0]["user"]["token"] == "sesame"


def test_a_replaced_token_is_refused() -> None:
    shared = SharedToken("old")

    shared.token = "new"

    assert (shared.is_shown("new"), shared.is_shown("old")) == (True, False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_open(host: str) -> None:
    check_exposure(host, has_token=False, has_certificate=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "127.0.0.1.nip.io"]
)
@pytest.mark.parametrize(("token", "tls"), [(False, False), (True, False), (False, True)])
def test_elsewhere_a_token_and_tls_are_needed(host: str, token: bool, tls: bool) -> None:
    with pytest.raises(ValueError, match="a token and TLS are required"):
        check_exposure(host, has_token=token, has_certificate=tls)
    check_exposure(host, has_token=True, has_certificate=True)


def test_an_address_of_version_six_is_written_in_brackets() -> None:
    assert EmbeddedAPIServer("::1", 8001).url == "http://[::1]:8001"
    assert EmbeddedAPIServer("::", 8001, secure=True).url == "https://[::1]:8001"


@pytest.mark.parametrize("token", ["", "two words", "käse", "line\nend"])
def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        EmbeddedAPIServer(token=token)


def test_a_token_is_made_once_and_kept_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "token"

    token = keep_token(path)

    assert (keep_token(path), read_token(path)) == (token, token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_certificate_is_made_once_and_its_key_kept_for_its_owner(tmp_path: Path) -> None:
    kept = keep_self_signed(tmp_path, "127.0.0.1")
    content = kept.certificate.read_bytes()

    again = keep_self_signed(tmp_path, "127.0.0.1")

    assert again.certificate.read_bytes() == content
    assert stat.S_IMODE(kept.key.stat().st_mode) == 0o600
    again.load()


def test_a_certificate_is_made_again_for_a_host_that_it_does_not_cover(tmp_path: Path) -> None:
    content = keep_self_signed(tmp_path, "127.0.0.1").certificate.read_bytes()

    assert keep_self_signed(tmp_path, "api.example.com").certificate.read_bytes() != content


def test_a_certificate_with_another_key_is_refused(tmp_path: Path) -> None:
    wrong = ServingCertificate(_TLS / "server.crt", _TLS / "client-one.key")

    with pytest.raises(ValueError, match=r"can't use the certificate .*server\.crt"):
        EmbeddedAPIServer(certificate=wrong)
