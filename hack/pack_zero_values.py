#!/usr/bin/env python3
"""Pack how Go writes unset fields of built-in types into clientgo/testcluster/server/kinds/data.

Usage: hack/pack_zero_values.py API APIMACHINERY APIEXTENSIONS

API, APIMACHINERY and APIEXTENSIONS are checkouts of github.com/kubernetes/api, apimachinery and
apiextensions-apiserver. The published schemas do not tell two things that the Go types
do: which numbers, flags and texts are left out if they are zero (no pointer, and ``omitempty``),
and which fields are written as null if they are unset (times that are no pointers; lists, maps and
pointers without ``omitempty``).
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

from pack_protobuf_fields import FIELD, Types

TARGET = Path(__file__).parents[1] / "clientgo/testcluster/server/kinds/data/zero_values.json.gz"
SCALARS = ("string", "bool", "int")
TIMES = ("time", "micro-time")
NAME = re.compile(r'json:"([^",]*)([^"]*)"')


def zero_values(types: Types, name: str) -> list[list[str]]:
    """The fields of a struct that are left out if zero, and those written as null."""
    package = name.rpartition(".")[0]
    left_out, null = [], []
    for _, go_type, tags in FIELD.findall(types.structs[name]):
        found = NAME.search(tags)
        if found is None or "protobuf:" not in tags or not found[1]:
            continue
        field, omits = found[1], "omitempty" in found[2]
        if "omitzero" in found[2]:
            continue
        if go_type.startswith("*"):
            if not omits:
                null.append(field)
            continue
        kind = types.code(go_type, package)
        if kind in TIMES or (not omits and kind.startswith(("[]", "{}"))):
            null.append(field)
        elif omits and kind in SCALARS:
            left_out.append(field)
    return [left_out, null]


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    api, apimachinery, apiextensions = map(Path, sys.argv[1:])
    types = Types()
    types.read(apiextensions / "pkg/apis/apiextensions/v1", "apiextensions/v1")
    types.read(apimachinery / "pkg/apis/meta/v1", "apis/meta/v1")
    packages = sorted(file.parent.relative_to(api) for file in api.glob("*/v[12]/types.go"))
    for package in packages:
        types.read(api / package, str(package))
    found: dict[str, list[list[str]]] = {}
    for name in sorted(types.structs):
        home, _, short = name.rpartition(".")
        try:
            values = zero_values(types, name)
        except KeyError:
            continue  # a type outside of the API
        if any(values):
            found[f"{home.removeprefix('apis/')}.{short}".replace("/", ".")] = values
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(found)} types, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
