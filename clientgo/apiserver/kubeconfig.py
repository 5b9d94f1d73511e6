"""A kubeconfig that points at the embedded API server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

CONTEXT = "clientgo"


def make_kubeconfig(url: str) -> dict[str, Any]:
    """The kubeconfig of a server that listens at ``url``."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url}}],
        "users": [{"name": CONTEXT, "user": {}}],
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
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(kubeconfig, file, indent=2)  # JSON is YAML
        file.write("\n")
