"""What a plugin is told, and what it answers: `ExecCredential`.

Promises: the answer is JSON or YAML of the version that the kubeconfig names, with a token, a
certificate with its key, or both. No message shows anything of it.

Source: client-go `pkg/apis/clientauthentication`, `plugin/pkg/client/auth/exec`
refreshCredsLocked, `rest` ConfigToExecCluster.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import msgspec

from clientgo.meta.decoding import convert, decode
from clientgo.meta.timestamps import parse_time
from clientgo.rest.config.auth.renewed import Fresh
from clientgo.rest.config.auth.token_file import bearer
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.kubeconfig_types import Cluster
from clientgo.util.text.yaml_reader import YamlError, read_yaml

V1: Final = "client.authentication.k8s.io/v1"
V1BETA1: Final = "client.authentication.k8s.io/v1beta1"
_EXTENSION: Final = "client.authentication.k8s.io/exec"
_NEVER: Final = "0001-01-01T00:00:00Z"
"""Go's zero time, which stands for none."""


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: str | None = None
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    status: _Status | None = None


def cluster_info(cluster: Cluster) -> dict[str, Any]:
    """Return what a plugin is told of the cluster; reads the file of its certificate authority."""
    info: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data
        or _file_in_base64(cluster.certificate_authority),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
    }
    config = next((e for e in cluster.extensions if e.get("name") == _EXTENSION), {})
    return {key: value for key, value in info.items() if value} | {
        "server": cluster.server,
        "config": config.get("extension"),
    }


def exec_info(api_version: str, *, interactive: bool, cluster: dict[str, Any] | None) -> str:
    """Return the text of the environment variable `KUBERNETES_EXEC_INFO`."""
    spec: dict[str, Any] = {} if cluster is None else {"cluster": cluster}
    spec["interactive"] = interactive
    credential = {"kind": "ExecCredential", "apiVersion": api_version, "spec": spec}
    return msgspec.json.encode(credential).decode()


def read_answer(output: bytes, api_version: str, plugin: str) -> Fresh:
    """Return the identity in the output of a plugin; raises :class:`ConfigError`."""

    def refuse(problem: str) -> ConfigError:
        return ConfigError(f"{plugin} {problem}", advice="run it yourself to see what it prints")

    if not output.strip():
        raise refuse("printed nothing")
    try:
        answer = _decode(output)
    except YamlError:  # its text may show what was printed
        raise refuse("printed neither JSON nor YAML") from None
    except msgspec.ValidationError as error:
        raise refuse(f"printed no ExecCredential: {error}") from None
    if answer.kind not in (None, "", "ExecCredential"):
        raise refuse(f"printed a {answer.kind:.60}, not an ExecCredential")
    if answer.api_version != api_version:
        found = f"{answer.api_version:.60}" if answer.api_version else "no apiVersion"
        raise refuse(f"answered with {found}, but the kubeconfig asks for {api_version}")
    status = answer.status
    if status is None:
        raise refuse("answered without a status")
    if not (status.token or status.client_certificate_data or status.client_key_data):
        raise refuse("gave neither a token nor a certificate")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise refuse("gave a certificate without a key, or a key without a certificate")
    for pem in (status.client_certificate_data, status.client_key_data):
        if pem and "-----BEGIN " not in pem:
            raise refuse("gave a certificate or key that is no PEM")
    return Fresh(
        Identity(
            authorization=bearer(status.token, f"the answer of {plugin}") if status.token else "",
            cert_data=status.client_certificate_data or "",
            key_data=status.client_key_data or "",
        ),
        _expiry(status.expiration_timestamp, refuse),
    )


def _decode(output: bytes) -> _ExecCredential:
    try:
        return decode(output, _ExecCredential)
    except (msgspec.DecodeError, RecursionError):
        value, _ = read_yaml(output)  # JSON with a byte order mark among it, as in client-go
        return convert(value, _ExecCredential)


def _expiry(text: str | None, refuse: Callable[[str], ConfigError]) -> float | None:
    if text is None or text == _NEVER:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise refuse(f"gave an expirationTimestamp that is none: {text!r:.60}") from error


def _file_in_base64(path: str) -> str:
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            return base64.b64encode(file.read()).decode()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the certificate authority cannot be read: {error}",
            path=path,
            advice="correct certificate-authority of the cluster",
        ) from error
