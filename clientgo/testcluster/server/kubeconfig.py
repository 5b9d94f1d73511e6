"""The kubeconfig of the embedded API server."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from clientgo.util.certificates import KeyPair, write_private

CONTEXT = "clientgo"


def make_kubeconfig(
    url: str,
    *,
    token: str | None = None,
    client: KeyPair | None = None,
    authority: bytes | None = None,
) -> dict[str, Any]:
    """Return the kubeconfig of a server: what the client shows, and what it trusts (in PEM)."""
    cluster: dict[str, Any] = {"server": url}
    if url.startswith("http:"):
        cluster["insecure-skip-tls-verify"] = True  # without it JavaScript's client refuses HTTP
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    user = {} if token is None else {"token": token}
    if client is not None:
        user["client-certificate-data"] = base64.b64encode(client.certificate).decode()
        user["client-key-data"] = base64.b64encode(client.private_key).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [
            {
                "name": CONTEXT,
                "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"},
            }
        ],
    }


def write_kubeconfig(path: Path, kubeconfig: dict[str, Any]) -> None:
    """Write a kubeconfig that only its owner can read.

    Raises:
        OSError: the file can't be written.
    """
    text = json.dumps(kubeconfig, indent=2)  # JSON is YAML
    write_private(path, f"{text}\n".encode())
