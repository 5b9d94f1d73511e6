"""Settings: where they come from, which one wins, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from clientgo.operator import ALL, OWN, Manager, RateLimit, Retry, controller, retry
from clientgo.operator.controller.declaration import ControllerConfig, ControllerSettings
from clientgo.operator.errors import ConfigError
from clientgo.operator.manager.config import ManagerConfig, ManagerSettings
from clientgo.operator.manager.config_file import load_settings
from clientgo.operator.settings.durations import seconds
from clientgo.rest import ConfigError as NoClusterError
from clientgo.rest import load_config
from tests.operator.world import Gadget, Recording

NOWHERE = "http://127.0.0.1:1"

TOML = """
name = "painter"
namespaces = ["red", "blue"]
metrics = "0"
graceful_shutdown = "1m"
workers = 2
workers_by_kind = { "Part.example.com" = 3 }

[leader_election]
id = "painter"
namespace = "home"
lease = "15s"

[controller."*"]
workers = 4

[controller.gadget]
labels = "colour=red"
generation-aware = false
max-interval = "10h"
retry = { initial = "2000ms", max_attempts = 7 }
rate-limit = { runs = 3, per = "1.5s" }
"""

YAML = """
name: painter
namespaces: [red, blue]
metrics: "0"
graceful-shutdown: 1m
workers: 2
workers-by-kind: {Part.example.com: 3}
leader-election: {id: painter, namespace: home, lease: 15s}
controller:
  "*": {workers: 4}
  gadget:
    labels: colour=red
    generation_aware: false
    max_interval: 10h
    retry: {initial: 2000ms, max-attempts: 7}
    rate_limit: {runs: 3, per: 1.5s}
"""


def written(directory: Path, text: str, name: str = "operator.toml") -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(("name", "text"), [("o.toml", TOML), ("o.yaml", YAML)])
def test_a_file_says_what_manager_and_controllers_are_told(
    tmp_path: Path, name: str, text: str
) -> None:
    """OP-CFG-04, OP-CFG-05"""
    manager = Manager.load(written(tmp_path, text, name), {}, cluster=NOWHERE)
    config = manager.config
    assert (config.name, config.namespaces, config.workers) == ("painter", {"red", "blue"}, 2)
    assert config.graceful_shutdown == 60.0
    assert config.leader_election is not None
    assert (config.leader_election.id, config.leader_election.lease) == ("painter", 15.0)
    built = manager.controller(Gadget).build(Recording()).config
    assert (built.workers, built.labels, built.generation_aware) == (4, "colour=red", False)
    assert (built.max_interval, built.rate_limit) == (36000.0, RateLimit(3, 1.5))
    assert built.retry == retry.exponential(initial=2.0, max_attempts=7)


@controller(Gadget, workers=5)
class Decorated(Recording):
    pass


@controller(Gadget)
class Plain(Recording):
    pass


def test_who_is_nearer_wins(tmp_path: Path) -> None:
    """OP-CFG-03: default, file, environment, decorator, argument."""
    path = written(tmp_path, 'metrics = "0"\nname = "file"\n[controller.gadget]\nworkers = 3\n')
    env = {
        "CLIENTGO_OPERATOR_NAME": "env",
        "CLIENTGO_OPERATOR_CONTROLLER__GADGET__WORKERS": "4",
        "UNRELATED": "x",
    }

    def workers(reconciler: Any, env: dict[str, str], **overrides: Any) -> int:
        manager = Manager.load(path, env, cluster=NOWHERE)
        return manager.register(reconciler, **overrides).config.workers

    assert Manager(NOWHERE, metrics="0").register(Plain()).config.workers == 1
    assert workers(Plain(), {}) == 3
    assert workers(Plain(), env) == 4
    assert workers(Decorated(), env) == 5
    assert workers(Decorated(), env, workers=6) == 6
    assert Manager.load(path, {}, cluster=NOWHERE).config.name == "file"
    assert Manager.load(path, env, cluster=NOWHERE).config.name == "env"
    assert Manager.load(path, env, cluster=NOWHERE, name="argument").config.name == "argument"


def test_a_variable_reaches_every_level() -> None:
    """OP-CFG-04"""
    settings = load_settings(
        None,
        {
            "CLIENTGO_OPERATOR_NAMESPACES": "red, blue",
            "CLIENTGO_OPERATOR_CHECK_CRDS": "true",
            "CLIENTGO_OPERATOR_GRACEFUL_SHUTDOWN": "none",
            "CLIENTGO_OPERATOR_LEADER_ELECTION__ID": "me",
            "CLIENTGO_OPERATOR_WEBHOOK__PORT": "9444",
            "CLIENTGO_OPERATOR_CONTROLLER__MY_GADGET__RETRY__INITIAL": "1.5s",
        },
    )
    assert settings["namespaces"] == {"red", "blue"}
    assert settings["check_crds"] is True
    assert settings["graceful_shutdown"] is None
    assert settings["leader_election"].id == "me"
    assert settings["webhook"].port == 9444
    assert settings["controllers"]["my-gadget"]["retry"].initial == 1.5


@pytest.mark.parametrize(("text", "scope"), [("all", ALL), ("own", OWN), ("ALL", ALL)])
def test_namespaces_may_be_told_in_one_word(text: str, scope: Any) -> None:
    """OP-CFG-04"""
    assert load_settings(None, {"CLIENTGO_OPERATOR_NAMESPACES": text})["namespaces"] is scope


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker = 1", "no setting 'worker'; did you mean workers"),
        ("[controller.gadget]\nretry = { initials = 1 }", "did you mean initial"),
        ("[controller.gadget]\nlabel = 'a'", "controller.gadget: .*did you mean labels"),
        ("workers = 'many'", "workers: Expected `int`, got `str`"),
        ("workers = true", "workers: Expected `int`, got `bool`"),
        ("check_crds = 'perhaps'", "check_crds: Expected `bool`, got `str`"),
        ("graceful_shutdown = 'soon'", "graceful_shutdown is no duration"),
        ("namespaces = 3", "namespaces must be names"),
        ("leader_election = 'yes'", "leader_election must be a table"),
        ("name = 3", "name: Expected `str`, got `int`"),
        ("[leader_election]\nnamespace = 'home'", "leader_election: .*'id'"),
        ("[controller.gadget]\nrate_limit = { runs = 'x' }", "controller.gadget.rate_limit.runs: "),
        ("[workers_by_kind]\nPart = 'x'", "workers_by_kind: Expected `int`, got `str`"),
        ("[cache]\nlabels = 'a'", "no setting 'cache'"),
        ("name = ", "operator.toml"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    """OP-CFG-04, OP-CFG-06"""
    with pytest.raises(ConfigError, match=message):
        load_settings(written(tmp_path, text), {})


def test_a_refusal_names_the_file_and_the_variables_that_it_may_come_from(tmp_path: Path) -> None:
    """OP-CFG-04, OP-CFG-06"""
    file = tmp_path / "operator.toml"
    file.write_text("workers = 'x'")
    said = "workers: Expected `int`, got `str`; it is 'x'"
    variable = {"CLIENTGO_OPERATOR_METRICS": "0"}
    for environment, place in (
        (variable, f"{file} and the variables CLIENTGO_OPERATOR_*"),
        ({}, f"{file}"),
    ):
        with pytest.raises(ConfigError) as refused:
            load_settings(str(file), environment)
        assert str(refused.value) == f"{place}: {said}"


def test_a_file_that_is_not_there_is_named() -> None:
    """OP-CFG-06"""
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_settings("nowhere.toml", {})


def test_settings_of_a_controller_that_there_is_not_are_refused_at_the_start() -> None:
    """OP-CFG-04, OP-CFG-06"""
    manager = Manager(NOWHERE, metrics="0", controllers={"gadgets": {"workers": 2}})
    manager.register(Plain())
    with pytest.raises(ConfigError, match="did you mean gadget"):
        manager.start()


@pytest.mark.parametrize("length", [timedelta(seconds=1.5), 1.5])
def test_a_length_is_seconds_or_a_timedelta(length: Any) -> None:
    """OP-CFG-05"""
    assert seconds(length) == 1.5


def test_where_a_cluster_was_looked_for_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CFG-01: a path first, then KUBECONFIG, the pod, the home directory."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(NoClusterError) as caught:
        Manager(metrics="0")
    for place in ("KUBECONFIG", "pod", "~/.kube/config"):
        assert place in str(caught.value)

    def kubeconfig(path: Path, server: str) -> Path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "users: [{name: u, user: {token: t}}]\ncurrent-context: x\n"
        )
        return path

    kubeconfig(tmp_path / ".kube" / "config", "http://home")
    assert load_config().server == "http://home"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "variable", "http://variable")))
    assert load_config().server == "http://variable"
    explicit = kubeconfig(tmp_path / "explicit", "http://explicit")
    assert load_config(str(explicit)).server == "http://explicit"


@pytest.mark.parametrize("given", [3, 1.5, object()])
def test_namespaces_that_are_none_are_refused_in_one_line(given: Any) -> None:
    """OP-CFG-06"""
    with pytest.raises(
        ConfigError, match="namespaces must be ALL, OWN, a name or several"
    ) as error:
        Manager(NOWHERE, namespaces=given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("config", "settings"),
    [(ControllerConfig, ControllerSettings), (ManagerConfig, ManagerSettings)],
)
def test_what_is_accepted_and_its_result_have_the_same_names(config: type, settings: type) -> None:
    assert get_type_hints(settings).keys() == get_type_hints(config).keys()


def test_a_retry_policy_may_be_named_or_described(tmp_path: Path) -> None:
    """OP-CFG-04: what a description leaves out is as by default, which is to retry for ever."""
    text = "[controller.gadget]\nretry = 'workqueue'\n[controller.part]\nretry = { initial = 1 }"
    controllers = load_settings(written(tmp_path, text), {})["controllers"]
    assert controllers["gadget"]["retry"] == "workqueue"
    assert controllers["part"]["retry"] == retry.exponential(initial=1)


@pytest.mark.parametrize("after", [0, -1.0, timedelta(0), float("nan")])
def test_a_retry_that_asks_for_no_delay_is_refused(after: Any) -> None:
    """OP-CFG-05: it would be a busy loop."""
    with pytest.raises(ConfigError, match="must be greater than 0"):
        Retry(after=after)
