"""Users of a token file, and of client certificates."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer, User
from clientgo.testcluster.server.auth.authentication.token_file import has_users, read_users
from clientgo.util.certificates import make_authority, make_client_pair
from tests.testcluster.server.users import Users

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def test_a_token_file_is_read_as_by_a_real_server(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('t1,jane,1,"devs,testers"\n\nt2,joe,2\n,nobody,3\n')

    assert has_users(path)
    assert read_users(path) == {
        "t1": User("jane", "1", ("devs", "testers")),
        "t2": User("joe", "2"),
    }


def test_a_line_without_a_uid_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text("t1,jane,1\nt2,joe\n")

    with pytest.raises(ValueError, match="line 2: a token needs a user name and a uid"):
        read_users(path)


def test_a_file_with_a_token_alone_names_no_users(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("sesame\n")

    assert not has_users(path)


@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
def test_a_user_shows_its_own_token(mode: str) -> None:
    known = {"sesame": User("jane", "1", ("devs",))}
    with EmbeddedAPIServer(authorization=mode, secure=True, users=known) as server:
        users = Users(server)
        answer = users.call("POST", REVIEWS, {}, token="sesame")

        assert answer.body["status"]["userInfo"] == {
            "username": "jane",
            "uid": "1",
            "groups": ["devs", "system:authenticated"],
        }
        assert users.call("GET", "/api", token="wrong").status == 401


def test_where_users_have_tokens_the_administrator_has_one_too() -> None:
    with EmbeddedAPIServer(users={"sesame": User("jane")}) as server:
        (shown,) = server.kubeconfig_data["users"]
        statuses = [
            urllib3.request("GET", f"{server.url}/api", headers=headers).status
            for headers in (
                {"Authorization": f"Bearer {shown['user']['token']}"},
                {"Authorization": "Bearer sesame"},
                {},
            )
        ]

    assert statuses == [200, 200, 401]


def ask(server: EmbeddedAPIServer, certificate: bytes, key: bytes, folder: Path) -> Any:
    pair = folder / "client.pem"
    pair.write_bytes(certificate + key)
    trusted = ssl.create_default_context(cadata=Users(server).authority)
    trusted.load_cert_chain(pair)
    with urllib3.PoolManager(ssl_context=trusted) as pool:
        headers = {"Content-Type": "application/json"}
        answer = pool.request(
            "POST", server.url + REVIEWS, body=b"{}", headers=headers, retries=False
        )
        return answer.json()


def test_a_certificate_names_a_user_and_its_groups(users: Users, tmp_path: Path) -> None:
    user = users.server.kubeconfig_of("jane", ["devs", "testers"])["users"][0]["user"]
    certificate, key = (
        base64.b64decode(user[name]) for name in ("client-certificate-data", "client-key-data")
    )

    answer = ask(users.server, certificate, key, tmp_path)

    assert answer["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["devs", "testers", "system:authenticated"],
    }


def test_a_certificate_of_another_authority_is_refused(users: Users, tmp_path: Path) -> None:
    authority = make_authority("other", now=1e9, lifetime=1e9)
    pair = make_client_pair(authority, "jane", ["system:masters"], now=1e9, lifetime=1e9)

    with pytest.raises(urllib3.exceptions.HTTPError):
        ask(users.server, pair.certificate, pair.private_key, tmp_path)


def test_the_certificate_of_the_server_itself_names_no_user(users: Users, tmp_path: Path) -> None:
    """Its key signs no clients: the authority of clients is another one."""
    folder = users.server.kubeconfig.parent

    with pytest.raises(urllib3.exceptions.HTTPError):
        ask(
            users.server,
            (folder / "server.crt").read_bytes(),
            (folder / "server.key").read_bytes(),
            tmp_path,
        )


def test_a_server_without_rbac_issues_no_certificates() -> None:
    with (
        EmbeddedAPIServer() as server,
        pytest.raises(RuntimeError, match="authorization='RBAC'"),
    ):
        server.kubeconfig_of("jane")
