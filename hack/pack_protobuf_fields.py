#!/usr/bin/env python3
"""Pack the protobuf field numbers of built-in kinds into clientgo/testcluster/server/http/data.

Usage: hack/pack_protobuf_fields.py API APIMACHINERY APIEXTENSIONS AGGREGATOR

The arguments are checkouts of github.com/kubernetes/api, apimachinery, apiextensions-apiserver and
kube-aggregator, of the version that the server has. Their Go types tell all that a decoder needs,
in the tags of the fields: the number, the name in JSON, whether a zero is told (a pointer, or no
``omitempty``), whether members are inlined. The numbers are compared with the ``generated.proto``
files, which do not tell the rest.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

TARGET = Path(__file__).parents[1] / "clientgo/testcluster/server/http/data/protobuf_fields.json.gz"

PACKAGES = (
    "admissionregistration/v1",
    "apps/v1",
    "authentication/v1",
    "authorization/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates/v1",
    "coordination/v1",
    "core/v1",
    "discovery/v1",
    "events/v1",
    "flowcontrol/v1",
    "networking/v1",
    "node/v1",
    "policy/v1",
    "rbac/v1",
    "resource/v1",
    "scheduling/v1",
    "storage/v1",
)

REFERRED_TO = ("scheduling/v1alpha3",)
"""Packages whose kinds are not served, but whose types are used by others."""

ANYWHERE = (
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "CreateOptions",
    "DeleteOptions",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "PatchOptions",
    "Status",
    "UpdateOptions",
)
"""Kinds of the API itself, which are read in every group version."""

STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\n(.*?)^)?\}", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^type (\w+) ([^\s{]+)$", re.MULTILINE)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?([*\[\]\w.]+)\s+`([^`]*)`", re.MULTILINE)
IMPORT = re.compile(
    r'^(?:\t|import )(?:(\w+) )?"k8s\.io/(?:api|apimachinery/pkg)/([\w/]+)"', re.MULTILINE
)
MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"= (\d+);")
GROUP = re.compile(r'^const GroupName = "([^"]*)"', re.MULTILINE)

SPECIAL = {
    "string": "string",
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "[]byte": "bytes",
    "apis/meta/v1.Time": "time",
    "apis/meta/v1.MicroTime": "micro-time",
    "apiextensions/v1.JSON": "json",
    "apiextensions/v1.JSONSchemaPropsOrArray": "schema-or-array",
    "apiextensions/v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "apiextensions/v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
    "apis/meta/v1.FieldsV1": "json",
    "apis/meta/v1.Verbs": "list-message",
    "api/resource.Quantity": "quantity",
    "runtime.RawExtension": "json",
    "types.NodeName": "string",
    "types.UID": "string",
    "util/intstr.IntOrString": "int-or-string",
}
"""Types with an encoding of their own, and what the decoder calls it."""


@dataclass
class Types:
    structs: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    packages: dict[str, dict[str, str]] = field(default_factory=dict)
    """By package: what the names of imported ones stand for."""

    def read(self, directory: Path, package: str) -> None:
        source = "\n".join(file.read_text() for file in sorted(directory.glob("*types*.go")))
        imports = {alias or path.rpartition("/")[2]: path for alias, path in IMPORT.findall(source)}
        self.packages[package] = imports
        for name, body in STRUCT.findall(source):
            self.structs[f"{package}.{name}"] = body
        for name, type_ in NAMED.findall(source):
            self.named[f"{package}.{name}"] = type_

    def qualified(self, type_: str, package: str) -> str:
        """A type by its package; the built-in ones of Go have none."""
        if type_ in SPECIAL:
            return type_
        alias, dot, name = type_.rpartition(".")
        return f"{self.packages[package][alias] if dot else package}.{name}"

    def code(self, type_: str, package: str) -> str:
        """How the decoder is told a type: ``[]`` and ``{}`` for lists and maps, then an element."""
        if type_ in SPECIAL:
            return SPECIAL[type_]
        if type_.startswith("*"):
            return self.code(type_[1:], package)
        if type_.startswith("[]"):
            return "[]" + self.code(type_[2:], package)
        if type_.startswith("map["):
            member = self.code(type_.partition("]")[2], package)
            # Lists can't be members of maps in protobuf, so they are wrapped in a message.
            return "{}list-message" if member.startswith("[]") else "{}" + member
        name = self.qualified(type_, package)
        if name in SPECIAL:
            return SPECIAL[name]
        if name in self.structs:
            return name
        home = name.rpartition(".")[0]
        return self.code(self.named[name], home)

    def message(self, name: str) -> dict[str, list[object]]:
        """The fields of a struct by number: name in JSON (empty if inlined), type, zero told."""
        package = name.rpartition(".")[0]
        fields: dict[str, list[object]] = {}
        for _, type_, tags in FIELD.findall(self.structs[name]):
            number = re.search(r'protobuf:"\w+,(\d+)', tags)
            if number is None:
                continue
            json_name, _, options = re.search(r'json:"([^"]*)"', tags)[1].partition(",")  # type: ignore[index]
            told = type_.startswith("*") or not options
            fields[number[1]] = [json_name, self.code(type_, package), int(told)]
        return fields


def check(messages: dict[str, dict[str, list[object]]], sources: dict[str, Path]) -> None:
    """Compare the numbers of each message with those of its generated.proto."""
    for package, directory in sources.items():
        text = re.sub(r"//.*", "", (directory / "generated.proto").read_text())
        for name, body in MESSAGE.findall(text):
            fields = messages.get(f"{package}.{name}")
            if fields is not None and set(fields) != set(NUMBER.findall(body)):
                sys.exit(f"{package}.{name} has other fields in generated.proto")


def pack(api: Path, apimachinery: Path, apiextensions: Path, aggregator: Path) -> None:
    types = Types()
    types.read(apimachinery / "pkg/apis/meta/v1", "apis/meta/v1")
    for package in REFERRED_TO:
        types.read(api / package, package)
    kinds = {f"/{kind}": f"apis/meta/v1.{kind}" for kind in ANYWHERE}
    sources = {package: api / package for package in PACKAGES} | {
        "apiextensions/v1": apiextensions / "pkg/apis/apiextensions/v1",
        "apiregistration/v1": aggregator / "pkg/apis/apiregistration/v1",
    }
    for package, directory in sources.items():
        types.read(directory, package)
        group = GROUP.search((directory / "register.go").read_text())[1]  # type: ignore[index]
        version = package.rpartition("/")[2]
        for name, body in types.structs.items():
            if name.startswith(f"{package}.") and "TypeMeta `" in body:
                api_version = f"{group}/{version}" if group else version
                kinds[f"{api_version}/{name.rpartition('.')[2]}"] = name
    wanted = set(kinds.values()) | {"apiextensions/v1.JSONSchemaProps"}
    messages: dict[str, dict[str, list[object]]] = {}
    while wanted:
        name = wanted.pop()
        messages[name] = types.message(name)
        members = (
            str(code).removeprefix("[]").removeprefix("{}")
            for _, code, _ in messages[name].values()
        )
        wanted |= {member for member in members if member in types.structs} - messages.keys()
    check(messages, {**sources, "apis/meta/v1": apimachinery / "pkg/apis/meta/v1"})
    TARGET.parent.mkdir(exist_ok=True)
    text = json.dumps({"kinds": kinds, "messages": messages}, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(kinds)} kinds, {len(messages)} messages, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    pack(*map(Path, sys.argv[1:]))
