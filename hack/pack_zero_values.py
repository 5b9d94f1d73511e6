#!/usr/bin/env python3
"""Pack how Go writes unset fields of built-in types into clientgo/testcluster/server/kinds/data.

Usage: hack/pack_zero_values.py API APIMACHINERY APIEXTENSIONS AGGREGATOR

The arguments are checkouts of github.com/kubernetes/api, apimachinery, apiextensions-apiserver and
kube-aggregator, of the version that the server has. The published schemas do not tell two things
that the Go types do: which numbers, flags and texts are left out if they are zero (no pointer, and
``omitempty``), and which fields are written although they are unset, with which value: structs,
quantities and ports that are no pointers, and whatever has no ``omitempty``.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

from pack_protobuf_fields import FIELD, Types

TARGET = Path(__file__).parents[1] / "clientgo/testcluster/server/kinds/data/zero_values.json.gz"
SCALARS = {"string": "", "bool": False, "int": 0, "float": 0}
ZEROS = {"time": None, "micro-time": None, "json": None, "quantity": "0", "int-or-string": 0}
"""Types that are structs, so that ``omitempty`` does nothing, and how they are written."""
NAME = re.compile(r'json:"([^",]*)([^"]*)"')


def zero_values(types: Types, name: str) -> tuple[list[str], dict[str, object]]:
    """The fields of a struct that are left out if zero, and the values of those that are not."""
    package = name.rpartition(".")[0]
    left_out: list[str] = []
    written: dict[str, object] = {}
    for _, go_type, tags in FIELD.findall(types.structs[name]):
        found = NAME.search(tags)
        if found is not None and found[2] == ",inline" and f"{package}.{go_type}" in types.structs:
            inlined, always = zero_values(types, f"{package}.{go_type}")
            left_out += inlined
            written |= always
            continue
        if found is None or "protobuf:" not in tags or not found[1] or "omitzero" in found[2]:
            continue
        field, omits = found[1], "omitempty" in found[2]
        kind = types.code(go_type, package)
        if go_type.startswith("*") or kind.startswith(("[]", "{}")) or kind == "bytes":
            if not omits:
                written[field] = None
        elif kind in ZEROS or kind not in SCALARS:
            written[field] = ZEROS.get(kind, {})
            if kind == "int-or-string" and omits:
                left_out.append(field)  # as it would be without the struct
        elif omits:
            left_out.append(field)
        else:
            written[field] = SCALARS[kind]
    return left_out, written


def main() -> None:
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    api, apimachinery, apiextensions, aggregator = map(Path, sys.argv[1:])
    types = Types()
    types.read(apiextensions / "pkg/apis/apiextensions/v1", "apiextensions/v1")
    types.read(aggregator / "pkg/apis/apiregistration/v1", "apiregistration/v1")
    types.read(apimachinery / "pkg/apis/meta/v1", "apis/meta/v1")
    packages = sorted(file.parent.relative_to(api) for file in api.glob("*/v[12]/types.go"))
    for package in packages:
        types.read(api / package, str(package))
    found: dict[str, tuple[list[str], dict[str, object]]] = {}
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
