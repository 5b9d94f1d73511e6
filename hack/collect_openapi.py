#!/usr/bin/env python3
"""Collect what the generator needs from a server's OpenAPI v3 documents, in one compact file.

    for path in api/v1 apis/apps/v1 ...; do
        kubectl get --raw /openapi/v3/$path > documents/${path//\\//__}.json
    done
    hack/collect_openapi.py documents

Writes hack/openapi/kubernetes.json: every schema once, and what is served where. One schema a
line, so that a new Kubernetes version shows as a readable diff.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_TARGET = Path(__file__).parent / "openapi" / "kubernetes.json"


def main(directory: Path) -> None:
    schemas: dict[str, Any] = {}
    resources: dict[str, dict[str, Any]] = {}
    for document in sorted(directory.glob("api*__*.json")):
        content = json.loads(document.read_text())
        schemas |= content.get("components", {}).get("schemas", {})
        for path, operations in content["paths"].items():
            _note_resource(path, operations, resources)
    lines = [
        '{"schemas": {',
        ",\n".join(f"{json.dumps(name)}: {_compact(schemas[name])}" for name in sorted(schemas)),
        '}, "resources": {',
        ",\n".join(
            f"{json.dumps(name)}: {_compact(resources[name])}" for name in sorted(resources)
        ),
        "}}",
    ]
    _TARGET.write_text("\n".join(lines) + "\n")
    print(f"{_TARGET}: {len(schemas)} schemas, {len(resources)} resources")


def _note_resource(path: str, operations: dict[str, Any], into: dict[str, dict[str, Any]]) -> None:
    """Remember the kind of a collection: ``.../v1/pods`` or ``.../v1/namespaces/{namespace}/pods``.

    Objects are created by POST, so that tells collections from all other paths, except for the
    subresources that lie below an object's name.
    """
    parts = path.strip("/").split("/")
    post = operations.get("post")
    if post is None or "{name}" in parts or "watch" in parts:
        return
    root = parts[: 2 if parts[0] == "api" else 3]
    kind = dict(post["x-kubernetes-group-version-kind"])
    kind["plural"] = parts[-1]
    kind["namespaced"] = parts[len(root) :][:2] == ["namespaces", "{namespace}"]
    into["/".join([*root, parts[-1]])] = kind


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
