#!/usr/bin/env python3
"""Pack the OpenAPI v3 documents of a Kubernetes API server into
clientgo/testcluster/schema/data/openapi.

Usage: hack/pack_openapi.py SOURCE

SOURCE is the address of an API server that answers without credentials (``kubectl proxy`` gives
one: http://127.0.0.1:8001), or a directory of documents named like their paths with ``__`` for
``/`` (``apis__apps__v1.json``).

Descriptions are left out: they are most of the text and nothing in the library reads them. Each
document becomes one gzip file, so that a group version is loaded only when it is asked for, and so
that it can be served as it is.
"""

from __future__ import annotations

import gzip
import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "clientgo/testcluster/schema/data/openapi"


def documents_from_server(address: str) -> Iterator[tuple[str, Any]]:
    def get(path: str) -> Any:
        with urllib.request.urlopen(address.rstrip("/") + path) as response:
            return json.load(response)

    for path, entry in get("/openapi/v3")["paths"].items():
        yield path, get(entry["serverRelativeURL"])


def documents_from_directory(directory: Path) -> Iterator[tuple[str, Any]]:
    for file in sorted(directory.glob("*.json")):
        yield file.stem.replace("__", "/"), json.loads(file.read_text(encoding="utf-8"))


def without_descriptions(node: Any, *, is_map_of_schemas: bool = False) -> Any:
    """Leave out ``description``, except where it is the name of a property."""
    if isinstance(node, dict):
        return {
            key: without_descriptions(value, is_map_of_schemas=key in ("properties", "schemas"))
            for key, value in node.items()
            if is_map_of_schemas or key != "description"
        }
    if isinstance(node, list):
        return [without_descriptions(item) for item in node]
    return node


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = sys.argv[1]
    is_address = source.startswith(("http://", "https://"))
    documents = (
        documents_from_server(source) if is_address else documents_from_directory(Path(source))
    )
    total = 0
    for path, document in documents:
        text = json.dumps(without_descriptions(document), separators=(",", ":"), sort_keys=True)
        packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
        file = TARGET / f"{path}.json.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed)
        total += len(packed)
        print(f"{path}: {len(text)} -> {len(packed)} bytes")
    print(f"{total} bytes in {TARGET}")


if __name__ == "__main__":
    main()
