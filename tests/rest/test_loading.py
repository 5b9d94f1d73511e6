"""Where a configuration is looked for, and what it becomes.

What one kubeconfig means is in test_kubeconfig_cases.py.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from clientgo.client import Client
from clientgo.rest import (
    ConfigError,
    Identity,
    RestConfig,
    in_cluster_config,
    load_config,
    load_kubeconfig,
    parse_kubeconfig,
    rest_config_of,
)
from clientgo.rest.config import in_cluster

TLS = Path(__file__).parent.parent / "data" / "tls"

GOOD = """
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: 'https://one:8001', tls-server-name: uno, proxy-url: 'http://proxy:1'}
- name: c2
  cluster: {server: 'https://two:8001', disable-compression: true}
contexts:
- name: one
  context: {cluster: c1, user: u1}
- name: two
  context: {cluster: c2, user: u2, namespace: shop}
users:
- name: u1
  user: {token: t1}
- name: u2
  user: {token: t2, as: jane, as-groups: [devs], as-user-extra: {a: [b]}}
"""


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(name="pod")
def _pod(monkeypatch, tmp_path) -> Path:
    """The directory of a service account, and the environment of a pod."""
    directory = tmp_path / "serviceaccount"
    directory.mkdir()
    (directory / "token").write_text("pod-token\n")
    (directory / "ca.crt").write_bytes((TLS / "ca.crt").read_bytes())
    (directory / "namespace").write_text("kitchen\n")
    monkeypatch.setattr(in_cluster, "SERVICE_ACCOUNT", str(directory))
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return directory


@pytest.fixture(name="home")
def _home(tmp_path) -> Path:
    return Path(write(tmp_path / "home" / ".kube" / "config", GOOD))


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return str(path)


def authorization(config: RestConfig) -> str:
    return config.credentials.current().authorization


def test_reading_a_kubeconfig_does_not_import_the_kubernetes_package(tmp_path):
    path = write(tmp_path / "config", GOOD)
    code = (
        "import sys, clientgo.client, clientgo.rest as r; r.load_config(sys.argv[1]); "
        "sys.exit('kubernetes' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 0


@pytest.mark.parametrize("as_given", [str, Path])
def test_a_path_stands_for_the_kubeconfig_there(tmp_path, as_given):
    """A client takes the path of a kubeconfig where it takes a URL."""
    path = write(tmp_path / "config", GOOD)

    assert rest_config_of(as_given(path)).server == "https://one:8001"


def test_a_relative_path_is_recognised_by_the_file(tmp_path, monkeypatch):
    write(tmp_path / "cluster-a", GOOD)
    monkeypatch.chdir(tmp_path)

    assert rest_config_of("cluster-a").server == "https://one:8001"
    assert rest_config_of("cluster-b:8080").server == "http://cluster-b:8080"


@pytest.mark.parametrize("path", ["/nowhere/config", "~/nowhere", "./config", "missing.yaml"])
def test_a_path_without_a_file_is_refused_as_a_path(path):
    with pytest.raises(ConfigError, match="there is no such kubeconfig; check the path"):
        rest_config_of(path)


def test_a_configuration_is_itself():
    config = RestConfig(server="host:1")

    assert rest_config_of(config) is config


def test_anything_else_is_a_type_error():
    with pytest.raises(TypeError, match="a dict is no configuration"):
        rest_config_of({})


def test_a_directory_is_no_kubeconfig(tmp_path):
    with pytest.raises(ConfigError, match="this is a directory") as caught:
        load_config(tmp_path)
    assert caught.value.path == str(tmp_path)


def test_a_context_becomes_a_configuration(tmp_path):
    config = load_config(write(tmp_path / "config", GOOD), context="two")

    assert (config.server, authorization(config), config.namespace, config.disable_compression) == (
        "https://two:8001",
        "Bearer t2",
        "shop",
        True,
    )
    assert config.impersonate is not None
    assert (config.impersonate.user, config.impersonate.groups, config.impersonate.extra) == (
        "jane",
        ("devs",),
        {"a": ("b",)},
    )


def test_a_proxy_of_the_kubeconfig_beats_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:3128")
    path = write(tmp_path / "config", GOOD)

    assert load_config(path).proxy == "http://proxy:1"
    assert load_config(path, context="two").proxy == "http://environment:3128"


def test_master_replaces_the_server_and_keeps_the_credentials(tmp_path):
    """As --server of kubectl, which forgets the name in the certificate too."""
    path = write(tmp_path / "config", GOOD)

    config = load_config(path, master="https://elsewhere:1")

    assert (config.server, authorization(config)) == ("https://elsewhere:1", "Bearer t1")
    assert load_config(path).tls.server_name == "uno"
    assert config.tls.server_name == ""


def test_master_alone_is_enough():
    assert load_config(master="http://elsewhere:1").server == "http://elsewhere:1"


def test_the_namespace_is_that_of_the_context_and_else_default(tmp_path):
    path = write(tmp_path / "config", GOOD)

    with Client(load_config(path, context="two")) as two, Client(path) as one:
        assert (two.namespace, one.namespace) == ("shop", "default")


def test_a_token_over_plain_http_is_sent_to_this_machine_only(tmp_path, caplog):
    text = GOOD.replace("https://one:8001", "http://one:8001")
    path = write(tmp_path / "config", text.replace("https://two", "http://127.0.0.1"))

    assert load_config(path).credentials.current() == Identity()
    assert "Credentials are not sent to http://one:8001" in caplog.text
    assert authorization(load_config(path, context="two")) == "Bearer t2"


def test_the_variable_comes_before_the_pod_and_the_home_directory(tmp_path, monkeypatch, pod, home):
    path = write(tmp_path / "config", GOOD.replace("one:8001", "variable:8001"))
    monkeypatch.setenv("KUBECONFIG", path)

    assert load_config().server == "https://variable:8001"


def test_the_pod_comes_before_the_home_directory(pod, home):
    assert load_config().server == "https://10.0.0.1:443"


def test_a_context_is_looked_for_in_files_also_in_a_pod(pod, home):
    assert load_config(context="two").server == "https://two:8001"


def test_the_home_directory_is_looked_at_last(home):
    assert load_config().server == "https://one:8001"


@pytest.mark.parametrize("listed", ["/nonexistent", "/dev/null"])
def test_a_variable_without_a_kubeconfig_leaves_the_pod(monkeypatch, pod, home, listed):
    """As client-go, which does not look at the home directory then."""
    monkeypatch.setenv("KUBECONFIG", listed)

    assert load_config().server == "https://10.0.0.1:443"


@pytest.mark.parametrize(
    ("listed", "problem"),
    [("/nonexistent", "there is no such file"), ("/dev/null", "nothing is in there")],
)
def test_a_variable_without_a_kubeconfig_is_named(monkeypatch, home, listed, problem):
    monkeypatch.setenv("KUBECONFIG", listed)

    with pytest.raises(ConfigError, match=f"KUBECONFIG is '{listed}', but {problem}"):
        load_config()


def test_nothing_configured_at_all_says_what_to_do():
    with pytest.raises(ConfigError, match=r"no cluster is configured.*pass the path"):
        load_config()


def test_a_pod_without_a_token_goes_on_to_the_home_directory(pod, home):
    (pod / "token").unlink()

    assert load_config().server == "https://one:8001"


def test_a_pod_without_a_token_is_told_so(pod):
    (pod / "token").unlink()

    with pytest.raises(ConfigError, match=r"has no token of a service account.*mount the token"):
        load_config()


def test_a_pod_uses_its_service_account(pod):
    config = load_config()

    assert (config.server, authorization(config)) == ("https://10.0.0.1:443", "Bearer pod-token")
    assert config.tls.ca_file == str(pod / "ca.crt")
    assert config.namespace == "kitchen"


def test_an_address_of_ipv6_has_brackets(pod, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")

    assert in_cluster_config().server == "https://[fd00::1]:443"


@pytest.mark.parametrize("break_it", [Path.unlink, lambda path: path.write_text("no PEM")])
def test_a_pod_without_a_ca_trusts_the_systems(pod, caplog, break_it: Callable[[Path], object]):
    break_it(pod / "ca.crt")

    assert in_cluster_config().tls.ca_file == ""
    assert "The system's certificate authorities are trusted" in caplog.text


def test_the_namespace_of_a_pod_can_be_in_its_environment(pod, monkeypatch):
    monkeypatch.setenv("POD_NAMESPACE", "dining")

    assert load_config().namespace == "dining"


def test_the_namespace_of_a_pod_is_default_without_the_file(pod):
    (pod / "namespace").unlink()

    assert load_config().namespace == "default"


def test_a_kubeconfig_without_a_namespace_has_that_of_the_pod(pod, home):
    """As kubectl in a pod."""
    assert load_config(home).namespace == "kitchen"
    assert load_config(home, context="two").namespace == "shop"


def test_outside_a_pod_there_is_no_configuration_of_one():
    with pytest.raises(ConfigError, match="this is no pod"):
        in_cluster_config()


def test_the_contexts_of_kubeconfigs_can_be_listed(tmp_path, monkeypatch, home):
    assert (*load_kubeconfig().contexts,) == ("one", "two")

    extra = "contexts: [{name: three, context: {cluster: c}}]\ncurrent-context: three"
    path = write(tmp_path / "more", extra)
    monkeypatch.setenv("KUBECONFIG", f"{path}:{home}")
    merged = load_kubeconfig()
    assert (merged.current_context, set(merged.contexts)) == ("three", {"one", "two", "three"})
    assert merged.paths == (path, str(home))
    assert load_kubeconfig(home, path).current_context == "one"


def test_a_kubeconfig_need_not_be_a_file():
    config = load_config(parse_kubeconfig(GOOD), context="two")

    assert config.server == "https://two:8001"


def test_a_kubeconfig_is_a_configuration():
    assert rest_config_of(parse_kubeconfig(GOOD)).server == "https://one:8001"


def test_no_name_breaks_the_line_of_a_message():
    text = 'contexts: [{name: "a\\nb", context: {}}]'

    with pytest.raises(ConfigError, match=r"there are: 'a\\nb'; run"):
        load_config(parse_kubeconfig(text))


def test_of_many_contexts_the_first_are_named():
    entries = ", ".join(f"{{name: c{number:02}}}" for number in range(25))

    with pytest.raises(ConfigError, match=r"there are: c00, .*, c19 and 5 more; run"):
        load_config(parse_kubeconfig(f"contexts: [{entries}]"))


def test_a_program_is_looked_up_beside_the_kubeconfig_or_in_the_path(tmp_path):
    plugins = {"a": "bin/plugin", "b": "plugin", "c": "/bin/plugin"}
    users = [
        f"{{name: {name}, user: {{exec: {{command: {command}}}}}}}"
        for name, command in plugins.items()
    ]
    read = load_kubeconfig(write(tmp_path / "config", f"users: [{', '.join(users)}]"))

    assert [user.exec and user.exec.command for user in read.users.values()] == [
        str(tmp_path / "bin" / "plugin"),
        "plugin",
        "/bin/plugin",
    ]
