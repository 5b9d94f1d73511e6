"""The roles and bindings that a server makes at its start.

Promises: missing ones are created each time that a server starts; others are left as they are.

Differs from upstream (``plugin/pkg/auth/authorizer/rbac/bootstrappolicy``), which also adds missing
rules to roles that exist. ``hack/pack_bootstrap_roles.py`` makes the data.
"""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

import msgspec

from clientgo.testcluster.server.auth.authorization.rules import RBAC_GROUP
from clientgo.testcluster.server.objects.writer import ObjectWriter

_METADATA = ("name", "namespace", "labels", "annotations")


def create_bootstrap_roles(writer: ObjectWriter) -> None:
    """Create the roles and bindings that every server has, if they are missing."""
    packed = files(__package__).joinpath("data/bootstrap_roles.json.gz").read_bytes()
    bootstrap: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed))
    for plural, items in bootstrap.items():
        for item in items:
            metadata = {key: item.pop(key) for key in _METADATA if key in item}
            if "roleRef" not in item:
                item.setdefault("rules", None)
            writer.put_own(f"{RBAC_GROUP}/v1", plural, {"metadata": metadata, **item}, keep=True)
