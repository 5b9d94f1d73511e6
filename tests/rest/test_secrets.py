"""No text that the library makes shows a secret: errors, logs, text forms, metrics and traces."""

from __future__ import annotations

import base64
import json
import logging
import pprint
import stat
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from clientgo.client import Client
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.observe.trace import Recorder, tracing
from clientgo.rest import (
    RestClient,
    RestConfig,
    load_config,
    load_kubeconfig,
)
from clientgo.testing.scripted_server import ScriptedServer, answer_status

MARK = "S3CRET"
ENCODED = base64.b64encode(MARK.encode()).decode()
PEM_KEY = f"-----BEGIN PRIVATE KEY-----\n{MARK}\n-----END PRIVATE KEY-----\n"
IN_ANY_FORM = (
    MARK,
    *(base64.b64encode(text.encode()).decode()[:-3] for text in (MARK, f"me:{MARK}", PEM_KEY)),
)
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}

USERS: dict[str, dict[str, Any]] = {
    "a token": {"token": MARK},
    "a token with a line break": {"token": f"{MARK}\n{MARK}"},
    "a token and a password": {"token": MARK, "username": "me", "password": MARK},
    "a password": {"username": "me", "password": MARK},
    "a password alone": {"password": MARK},
    "a list as a token": {"token": [MARK]},
    "a mapping as a password": {"username": "me", "password": {MARK: MARK}},
    "a number as a name beside a token": {"token": MARK, "username": 1},
    "a key": {"client-certificate-data": ENCODED, "client-key-data": ENCODED},
    "a key that is not base64": {"token": MARK, "client-key-data": f"*{MARK}*"},
    "a malformed key": {
        "client-certificate-data": base64.b64encode(
            (Path(__file__).parent.parent / "data/tls/client-one.crt").read_bytes()
        ).decode(),
        "client-key-data": base64.b64encode(PEM_KEY.encode()).decode(),
    },
    "a key as a path": {"client-certificate": "crt", "client-key": PEM_KEY},
    "a token file": {"tokenFile": "token"},
    "a bad token file": {"tokenFile": "bad-token"},
    "a token file and a password": {"tokenFile": "token", "username": "m", "password": MARK},
    "a text as a user": MARK,  # type: ignore[dict-item]
    "a plugin that is missing": {
        "exec": EXEC | {"command": "./gone", "args": [MARK], "env": [{"name": "A", "value": MARK}]},
    },
    "a plugin": {
        "exec": EXEC
        | {"command": "./plugin", "args": [MARK], "env": [{"name": "A", "value": MARK}]},
    },
    "a plugin that prints no JSON": {"exec": EXEC | {"command": "./garbled", "args": [MARK]}},
    "a plugin without a version": {"exec": {"command": "a", "args": [MARK]}},
    "arguments that are a text": {"exec": EXEC | {"command": "a", "args": MARK}},
    "an unknown provider": {"auth-provider": {"name": "a", "config": {"access-token": MARK}}},
    "a removed provider": {"auth-provider": {"name": "gcp", "config": {"access-token": MARK}}},
    "a list in a provider": {"auth-provider": {"name": "oidc", "config": {"id-token": [MARK]}}},
    "oidc": {
        "auth-provider": {
            "name": "oidc",
            "config": {
                "idp-issuer-url": "http://127.0.0.1:9",
                "client-id": "a",
                "client-secret": MARK,
                "refresh-token": MARK,
                "id-token": MARK,
            },
        }
    },
    "oidc without an id token": {
        "auth-provider": {
            "name": "oidc",
            "config": {
                "idp-issuer-url": "https://127.0.0.1:9",
                "client-id": "a",
                "client-secret": MARK,
                "refresh-token": MARK,
            },
        }
    },
    "groups of nobody beside a token": {"token": MARK, "as-groups": ["a"]},
    "a bad user to act as beside a token": {"token": MARK, "as": "a\nb"},
}
CLUSTERS: dict[str, dict[str, Any]] = {
    "a password in the URL": {"server": f"http://me:{MARK}@127.0.0.1:9"},
    "a user in the URL": {"server": f"http://{MARK}@127.0.0.1:9"},
    "a password in a URL of another scheme": {"server": f"ftp://me:{MARK}@host"},
    "a password with a slash in the URL": {"server": f"https://me:{MARK}/{MARK}@host"},
    "a password in a URL with a query": {"server": f"https://me:{MARK}@host?a=b"},
    "a password in a URL without a scheme": {"server": f"me:{MARK}@host"},
    "a password in a URL with a space": {"server": f"https://me:{MARK} @host"},
    "a password in the URL of a proxy": {"proxy-url": f"http://me:{MARK}@127.0.0.1:9"},
    "a password in the URL of another proxy": {"proxy-url": f"ftp://me:{MARK}@host"},
    "a password in the URL of a SOCKS proxy": {"proxy-url": f"socks5://me:{MARK}@host"},
    "a password in a malformed URL of a proxy": {"proxy-url": f"http://me:{MARK}@[host"},
}
FILES = {
    "a tag": "token: !!int {mark}",
    "an alias": "token: *{mark}",
    "a handle": "token: !{mark}!x y",
    "a directive": "%{mark} 1\n---\ntoken: a",
    "binary": 'token: !!binary "{mark}*"',
    "a colon": "token: {mark}: {mark}",
    "a tab": "token:\n\t{mark}: a",
    "a quote that is not closed": "token: '{mark}",
    "a control character": "token: {mark}\0",
    "a key that is none": "? [{mark}]\n: a",
    "a text": "{mark}",
    "a list": "[{mark}]",
    "a merge": "<<: {mark}",
}


@pytest.fixture(name="shown")
def _shown(caplog: pytest.LogCaptureFixture, capfd: Any) -> Iterator[list[str]]:
    """Texts, among which are the log at its lowest level and the output at the end."""
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield texts
    for record in caplog.records:
        texts.append(f"{record.getMessage()} {record.args!r} {vars(record)!r}")
    texts += capfd.readouterr()
    assert not [text for text in texts if any(form in text for form in IN_ANY_FORM)]


def kubeconfig(tmp_path: Path, **parts: Any) -> Path:
    for name, text in {
        "token": MARK,
        "bad-token": f"{MARK}\n{MARK}",
        "crt": "x",
        "plugin": f"""#!{sys.executable}\nimport json
print(json.dumps({{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
    "status": {{"token": "{MARK}"}}}}))""",
        "garbled": f"#!/bin/sh\necho 'token: {MARK}'\n",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(stat.S_IRWXU)
    cluster = {"server": "http://127.0.0.1:9"} | parts.get("cluster", {})
    content = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": parts.get("user", {"token": MARK})}],
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(content))
    return path


def forms(*objects: Any) -> Iterator[str]:
    for each in objects:
        yield from (repr(each), str(each), pprint.pformat(each), f"{vars_of(each)!r}")


def vars_of(each: Any) -> Any:
    rich = getattr(each, "__rich_repr__", None)
    return list(rich()) if rich else ""


def use(path: Path, shown: list[str]) -> None:
    """Load a file, look at everything that came from it, and send a request."""
    registry = CollectorRegistry()
    recorder = Recorder()
    try:
        read = load_kubeconfig(path)
        shown += forms(read, *read.clusters.values(), *read.users.values())
        for user in read.users.values():
            shown += forms(user.exec, user.auth_provider, user.exec and user.exec.env)
        config = load_config(path)
        shown += forms(config, config.credentials, config.tls, RestClient(config))
        with Client(config) as client:
            shown += forms(client)
        config = RestConfig(
            server=config.server,
            credentials=config.credentials,
            proxy=config.proxy,
            metrics=PrometheusProvider(registry=registry),
            timeout=0.2,
        )
        shown += forms(config.credentials.current())
        with tracing(recorder):
            RestClient(config).get().absolute_path("/version").do()
    except Exception as error:
        shown += forms(error, error.args)
        shown.append("".join(traceback.format_exception(error)))
        shown.append(repr(error.__cause__) + repr(error.__context__))
    shown += [generate_latest(registry).decode(), repr(recorder.hops())]


@pytest.mark.parametrize("name", USERS)
def test_no_secret_of_a_user_is_shown(name: str, tmp_path: Path, shown: list[str]) -> None:
    use(kubeconfig(tmp_path, user=USERS[name]), shown)


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_secret_of_a_cluster_is_shown(name: str, tmp_path: Path, shown: list[str]) -> None:
    use(kubeconfig(tmp_path, cluster=CLUSTERS[name], user={}), shown)


@pytest.mark.parametrize("name", FILES)
def test_no_content_of_a_file_that_is_not_yaml_is_shown(
    name: str, tmp_path: Path, shown: list[str]
) -> None:
    path = tmp_path / "config"
    path.write_text(FILES[name].replace("{mark}", MARK))
    use(path, shown)


def test_no_token_that_a_server_refuses_is_shown(tmp_path: Path, shown: list[str]) -> None:
    with ScriptedServer() as server:
        server.on("*", answer_status(401, "Unauthorized"))
        for user in ("a token", "a password", "a token file", "a plugin"):
            use(kubeconfig(tmp_path, cluster={"server": server.url}, user=USERS[user]), shown)
        assert any(MARK in str(each.headers) for each in server.requests)
