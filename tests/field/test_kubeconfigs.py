"""Kubeconfigs that name somebody else, contradict themselves, or are none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.rest import ConfigError, load_config
from clientgo.testing.scripted_server import answer_json
from tests.field.objects import NAMESPACE, listing, pod
from tests.field.scenario import Field

TLS = Path(__file__).parent.parent / "data" / "tls"
SECURE = {"server": "https://host"}


def data(name: str) -> str:
    return base64.b64encode((TLS / name).read_bytes()).decode()


def kubeconfig(
    path: Path,
    *,
    cluster: dict[str, Any] = SECURE,
    user: Any = None,
    wanted: str = "u",
    times: int = 1,
    encoding: str = "utf-8",
) -> Path:
    content = {
        "clusters": [{"name": "c", "cluster": cluster}] * times,
        "users": [{"name": "u", "user": {"token": "S3CRET"} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": wanted}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(content), encoding)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return str(caught.value)


def test_a_program_acts_as_whom_its_kubeconfig_names(field: Field, tmp_path: Path):
    """FIELD-53: without this it acts as the credentials themselves, which may do more."""
    field.pods.on_list(answer_json(listing(pod("a"))))
    user = {"as": "jane", "as-groups": ["devs"]}
    config = load_config(
        kubeconfig(tmp_path / "config", cluster={"server": field.server.url}, user=user)
    )
    with Client(config) as client:
        client.resource(Pod).namespace(NAMESPACE).list()

    headers = field.server.requests[0].headers
    assert (headers["impersonate-user"], headers["impersonate-group"]) == ("jane", "devs")


@pytest.mark.parametrize("user", ["S3CRET", {"token": ["S3CRET"]}, {"token": "S3CRET", "exec": 1}])
def test_no_error_about_a_kubeconfig_shows_a_secret(tmp_path: Path, user: Any):
    """FIELD-54."""
    assert "S3CRET" not in refusal(kubeconfig(tmp_path / "config", user=user))


def test_two_clusters_of_one_name_are_refused(tmp_path: Path):
    """FIELD-55: a merge by hand leaves them; which one is meant cannot be known."""
    path = kubeconfig(tmp_path / "config", times=2)

    assert "clusters has two entries with the name 'c'" in refusal(path)


def test_a_kubeconfig_may_be_utf_16(tmp_path: Path):
    """FIELD-56: PowerShell writes it with ``>``."""
    config = load_config(kubeconfig(tmp_path / "config", encoding="utf-16"))

    assert config.credentials.current().authorization == "Bearer S3CRET"


def test_a_key_that_does_not_fit_is_told_at_load(tmp_path: Path):
    """FIELD-57."""
    user = {
        "client-certificate-data": data("client-one.crt"),
        "client-key-data": data("client-two.key"),
    }

    assert "user 'u': the client key does not belong to the client certificate" in refusal(
        kubeconfig(tmp_path / "config", user=user)
    )


@pytest.mark.parametrize("content", ["- a", "a", "users: {}", "users: [a]", "contexts: 1", "\0"])
def test_what_is_no_kubeconfig_is_one_sentence(tmp_path: Path, content: str):
    """FIELD-58."""
    path = tmp_path / "config"
    path.write_text(content)

    text = refusal(path)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


def test_an_authority_that_would_not_be_used_is_refused(tmp_path: Path):
    """FIELD-59: who names one wants the server verified."""
    cluster = SECURE | {
        "insecure-skip-tls-verify": True,
        "certificate-authority-data": data("ca.crt"),
    }

    assert "has insecure-skip-tls-verify and a certificate authority" in refusal(
        kubeconfig(tmp_path / "config", cluster=cluster)
    )


def test_a_user_that_is_missing_is_not_nobody(tmp_path: Path):
    """FIELD-60."""
    path = kubeconfig(tmp_path / "config", wanted="gone")

    assert "there is no user 'gone' (of context 'x'); name one of: u" in refusal(path)
