#!/usr/bin/env python3
"""Pack the roles and bindings of a Kubernetes API server's start into clientgo/apiserver.

Usage: hack/pack_bootstrap_roles.py SOURCE

SOURCE is a JSON file with four lists: clusterroles, clusterrolebindings, roles and rolebindings. Of
each object it has name, namespace, labels and annotations, and what follows the metadata. The rules
of aggregated roles are added, so that a start does not have to collect them.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

TARGET = (
    Path(__file__).parents[1]
    / "clientgo/testcluster/server/controllers/data/bootstrap_roles.json.gz"
)


def collected_rules(role: dict[str, Any], roles: list[dict[str, Any]]) -> list[Any]:
    """Return the rules of the roles that an aggregated role selects, by name, each once."""
    rules: list[Any] = []
    for selector in role["aggregationRule"]["clusterRoleSelectors"]:
        wanted = selector["matchLabels"].items()
        for other in sorted(roles, key=lambda item: item["name"]):
            if other is not role and wanted <= other.get("labels", {}).items():
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bootstrap = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    roles = bootstrap["clusterroles"]
    aggregated = [role for role in roles if "aggregationRule" in role]
    while any(role.get("rules") != collected_rules(role, roles) for role in aggregated):
        for role in aggregated:  # one may select another
            role["rules"] = collected_rules(role, roles)
    text = json.dumps(bootstrap, separators=(",", ":"), sort_keys=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
