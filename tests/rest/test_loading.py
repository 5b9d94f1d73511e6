"""From kubeconfigs, service accounts and objects of the kubernetes package to a RestConfig."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from clientgo.rest import (
    ConfigError,
    Identity,
    RestClient,
    RestConfig,
    load_config,
    rest_config_of,
)
from clientgo.rest.config.kubernetes_package import KubernetesCredentials
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import ScriptedServer, answer_json, answer_status

TLS = Path(__file__).parent.parent / "data" / "tls"

GOOD = """
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: 'http://one:8001'}
- name: c2
  cluster: {server: 'http://two:8001'}
contexts:
- name: one
  context: {cluster: c1, user: u1}
- name: two
  context: {cluster: c2, user: u2}
- name: nobody
  context: {cluster: c1}
users:
- name: u1
  user: {token: t1}
- name: u2
  user: {username: me, password: pw}
"""


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return str(path)


def authorization(config: RestConfig) -> str:
    return config.credentials.current().authorization


def test_importing_the_room_does_not_import_the_kubernetes_package():
    code = "import clientgo.rest, clientgo.client, sys; sys.exit('kubernetes' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_kubeconfig_leads_to_its_current_context(tmp_path):
    config = load_config(write(tmp_path / "config", GOOD))

    assert (config.server, authorization(config)) == ("http://one:8001", "Bearer t1")


@pytest.mark.parametrize("as_given", [str, Path])
def test_a_path_stands_for_the_kubeconfig_there(tmp_path, as_given):
    """A client takes the path of a kubeconfig where it takes a URL."""
    path = write(tmp_path / "config", GOOD)

    assert rest_config_of(as_given(path)).server == "http://one:8001"


def test_a_relative_path_is_recognised_by_the_file(tmp_path, monkeypatch):
    write(tmp_path / "cluster-a", GOOD)
    monkeypatch.chdir(tmp_path)

    assert rest_config_of("cluster-a").server == "http://one:8001"
    assert rest_config_of("cluster-b:8080").server == "http://cluster-b:8080"


@pytest.mark.parametrize("path", ["/nowhere/config", "~/nowhere", "./config", "missing.yaml"])
def test_a_path_without_a_file_is_refused_as_a_path(path):
    with pytest.raises(ConfigError, match="there is no such kubeconfig; check the path"):
        rest_config_of(path)


def test_another_context_can_be_chosen(tmp_path):
    config = load_config(write(tmp_path / "config", GOOD), context="two")

    assert config.server == "http://two:8001"
    assert authorization(config) == "Basic " + base64.b64encode(b"me:pw").decode()


def test_a_context_without_a_user_is_anonymous(tmp_path):
    config = load_config(write(tmp_path / "config", GOOD), context="nobody")

    assert config.credentials.current() == Identity()


def test_master_replaces_the_server_and_keeps_the_credentials(tmp_path):
    config = load_config(write(tmp_path / "config", GOOD), master="http://elsewhere:1")

    assert (config.server, authorization(config)) == ("http://elsewhere:1", "Bearer t1")


def test_master_alone_is_enough():
    assert load_config(master="http://elsewhere:1").server == "http://elsewhere:1"


def test_the_variable_leads_to_a_kubeconfig(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", write(tmp_path / "config", GOOD))

    assert load_config().server == "http://one:8001"


def test_several_files_are_merged_and_the_first_wins(tmp_path, monkeypatch):
    first = write(
        tmp_path / "a",
        "current-context: two\nclusters:\n- {name: c2, cluster: {server: 'http://first:1'}}",
    )
    second = write(tmp_path / "b", GOOD)
    missing = str(tmp_path / "missing")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([missing, first, second]))

    config = load_config()

    assert config.server == "http://first:1"
    assert authorization(config).startswith("Basic ")


def test_the_home_directory_is_looked_at_last(tmp_path):
    write(tmp_path / "home" / ".kube" / "config", GOOD)

    assert load_config().server == "http://one:8001"


def test_certificates_come_from_data_and_from_files_beside_the_kubeconfig(tmp_path):
    ca = base64.b64encode((TLS / "ca.crt").read_bytes()).decode()
    for name in ("client-one.crt", "client-one.key"):
        (tmp_path / name).write_bytes((TLS / name).read_bytes())
    config = load_config(
        write(
            tmp_path / "config",
            f"""
            current-context: c
            contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
            clusters:
            - name: c
              cluster:
                server: https://host
                certificate-authority-data: {ca}
                tls-server-name: other
            users:
            - name: u
              user: {{client-certificate: client-one.crt, client-key: client-one.key}}
            """,
        )
    )

    assert Path(config.tls.ca_file).read_bytes() == (TLS / "ca.crt").read_bytes()
    assert config.tls.server_name == "other"
    assert not config.tls.insecure
    assert config.credentials.current().cert_file == str(tmp_path / "client-one.crt")


def test_a_proxy_of_the_environment_is_used_unless_the_host_is_exempt(tmp_path, monkeypatch):
    path = write(tmp_path / "config", GOOD)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert load_config(path).proxy == "http://proxy:3128"

    monkeypatch.setenv("no_proxy", "one")
    assert load_config(path).proxy == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("- a\n- b", "no mapping"),
        ("a: [", "not YAML"),
        ("a: \x00", "not YAML"),
        ("{}", "no context is selected.*kubectl config use-context"),
        (
            "current-context: gone\ncontexts: [{name: a, context: {}}]",
            "no context 'gone'.*name one of: a",
        ),
        ("current-context: a\ncontexts: {}", "no context 'a'"),
        ("current-context: a\ncontexts: {a: b}", "'contexts' is no list"),
        ("current-context: a\ncontexts: [a]", "no mapping: 'a'"),
        (
            "current-context: a\ncontexts: [{name: a, context: {user: u}}]",
            "context 'a' has no cluster",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]",
            "no cluster 'c' .of context 'a'.; name one of: none",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {x: y}}]",
            "cluster 'c' has no server",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'http://h'}}]",
            "no user 'u'",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'ftp://h'}}]",
            "no URL of an API server",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://h',"
            " certificate-authority: gone.crt}}]",
            "File does not exist.*gone.crt",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://h',"
            " certificate-authority-data: 'x'}}]",
            "context 'a' cannot be used",
        ),
        ("kind: Pod\nmetadata: {name: a}", "this is a Pod, not a kubeconfig"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'http://h'}}]\n"
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1,"
            " command: /nonexistent/plugin}}}]",
            "plugin '/nonexistent/plugin' of context 'a' gave no credentials.*run it yourself",
        ),
    ],
)
def test_a_bad_kubeconfig_is_one_clear_line(tmp_path, text, problem):
    """Issue, bad input: malformed or pointing nowhere."""
    path = write(tmp_path / "config", text)

    with pytest.raises(ConfigError, match=problem) as caught:
        load_config(path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value) or "ftp" in text


def test_a_missing_kubeconfig_is_named(tmp_path):
    with pytest.raises(ConfigError, match="gone: there is no such kubeconfig") as caught:
        load_config(str(tmp_path / "gone"))
    assert caught.value.path == str(tmp_path / "gone")


def test_a_directory_is_no_kubeconfig(tmp_path):
    with pytest.raises(ConfigError, match="this is a directory"):
        load_config(tmp_path)


def test_a_variable_that_points_nowhere_is_named(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")

    with pytest.raises(ConfigError, match="KUBECONFIG is '/nonexistent'"):
        load_config()


def test_nothing_configured_at_all_says_what_to_do():
    with pytest.raises(ConfigError, match=r"no cluster is configured.*pass the path"):
        load_config()


def test_a_pod_without_its_token_is_told_so(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    with pytest.raises(ConfigError, match=r"service account cannot be used.*mount its token"):
        load_config()


def test_a_pod_uses_its_service_account(monkeypatch, tmp_path):
    from kubernetes.config import incluster_config

    (tmp_path / "token").write_text("pod-token")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(TLS / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    config = load_config()

    assert config.server == "https://10.0.0.1:443"
    assert authorization(config).lower() == "bearer pod-token"
    assert config.tls.ca_file == str(TLS / "ca.crt")


def exec_kubeconfig(tmp_path: Path, server: str) -> str:
    """A kubeconfig whose plugin prints token 1, 2, ... with each run."""
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        f"""
import json, pathlib
count = pathlib.Path({str(tmp_path / "count")!r})
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print(json.dumps({{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                   "status": {{"token": f"token-{{number}}"}}}}))
"""
    )
    return write(
        tmp_path / "config",
        f"""
        current-context: a
        contexts: [{{name: a, context: {{cluster: c, user: u}}}}]
        clusters: [{{name: c, cluster: {{server: '{server}'}}}}]
        users:
        - name: u
          user:
            exec:
              apiVersion: client.authentication.k8s.io/v1
              command: {sys.executable}
              args: [{plugin}]
              interactiveMode: Never
        """,
    )


def test_an_exec_plugin_gives_the_token(tmp_path):
    config = load_config(exec_kubeconfig(tmp_path, "http://host"))

    assert authorization(config) == "Bearer token-1"
    assert authorization(config) == "Bearer token-1"


def test_a_refused_token_of_a_plugin_makes_it_run_again(tmp_path):
    """Credentials rotate while the program runs."""
    with ScriptedServer() as server:
        config = load_config(exec_kubeconfig(tmp_path, server.url))
        config.credentials._last_reload -= 60  # type: ignore[attr-defined]
        server.on("/x", answer_status(401, "Unauthorized"), answer_json({}))

        RestClient(config).get().absolute_path("/x").do()

        sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer token-1", "Bearer token-2"]


class StubConfiguration:
    """What KubernetesCredentials reads of a Configuration."""

    username = cert_file = key_file = None

    def __init__(self, token: str) -> None:
        self.token = token

    def auth_settings(self) -> dict[str, Any]:
        return {"BearerToken": {"in": "header", "key": "authorization", "value": self.token}}


def test_refused_credentials_are_looked_for_anew_only_every_ten_seconds():
    clock, made = FakeClock(), iter(range(2, 9))
    credentials = KubernetesCredentials(
        StubConfiguration("1"), lambda: StubConfiguration(str(next(made))), clock=clock
    )
    first = credentials.current()

    assert not credentials.renew(first)
    clock.step(10.0)
    assert credentials.renew(first)
    assert credentials.current().authorization == "2"
    assert credentials.renew(first)
    assert credentials.current().authorization == "2"


def test_credentials_that_cannot_be_reloaded_stay(caplog):
    def fail() -> Any:
        raise ConfigError("gone", advice="look")

    clock = FakeClock()
    credentials = KubernetesCredentials(StubConfiguration("1"), fail, clock=clock)
    clock.step(60.0)

    assert not credentials.renew(credentials.current())
    assert "gone; look" in caplog.text


def test_the_hook_of_the_kubernetes_package_is_asked_at_every_request():
    from kubernetes.client import Configuration

    configuration = Configuration(host="http://host")
    configuration.api_key["authorization"] = "Bearer old"
    turns = []

    def refresh(current: Any) -> None:
        turns.append(1)
        current.api_key["authorization"] = f"Bearer {len(turns)}"

    configuration.refresh_api_key_hook = refresh
    config = rest_config_of(configuration)

    assert [authorization(config), authorization(config)] == ["Bearer 1", "Bearer 2"]


def test_objects_of_the_kubernetes_package_urls_and_configs_are_understood():
    from kubernetes.client import ApiClient, Configuration

    configuration = Configuration(host="https://host")
    configuration.verify_ssl = False
    configuration.ssl_ca_cert = "/ca.crt"

    for source in (configuration, ApiClient(configuration)):
        config = rest_config_of(source)
        assert (config.server, config.tls.insecure, config.tls.ca_file) == (
            "https://host",
            True,
            "/ca.crt",
        )
    assert rest_config_of("host:1").server == "http://host:1"
    assert rest_config_of(config) is config


def test_anything_else_is_a_type_error():
    with pytest.raises(TypeError, match="a dict is no configuration"):
        rest_config_of({})


def test_the_file_of_a_rotating_token_is_read_again_after_a_refusal(tmp_path):
    token = tmp_path / "token"
    token.write_text("old")
    path = write(
        tmp_path / "config",
        f"""
        current-context: a
        contexts: [{{name: a, context: {{cluster: c, user: u}}}}]
        clusters: [{{name: c, cluster: {{server: 'http://host'}}}}]
        users: [{{name: u, user: {{tokenFile: {token}}}}}]
        """,
    )
    config = load_config(path)
    first = config.credentials.current()
    config.credentials._last_reload = time.monotonic() - 60  # type: ignore[attr-defined]
    token.write_text("new")

    assert first.authorization == "Bearer old"
    assert config.credentials.renew(first)
    assert authorization(config) == "Bearer new"
