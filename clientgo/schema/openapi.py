"""The OpenAPI v3 documents of Kubernetes' own types, and how to walk them.

Promises: the published schema of every built-in group version, loaded when it is first asked for
(a few milliseconds) and then kept; `OpenAPIType` resolves references and lays what a field says
over what its type says. Instances are immutable and safe to share between threads.

Does not promise validation, and does not know printer columns: the documents don't have them.

Upstream: ``k8s.io/kube-openapi`` and, for patches, ``strategicpatch.PatchMetaFromOpenAPIV3``. The
data in ``data/openapi`` is made by ``hack/pack_openapi.py``.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Any

import msgspec

from clientgo.meta.patches.strategic_merge.schema import MergeStrategy, PatchField

Node = Mapping[str, Any]


class OpenAPIType:
    """A type, or the type of a field, as an OpenAPI document describes it.

    It is a `PatchSchema`, so that it can drive strategic merge patches.
    """

    __slots__ = ("_definitions", "_fields", "node")

    def __init__(self, node: Node, definitions: Mapping[str, Node]) -> None:
        """Wrap `node`; references in it name entries of `definitions`."""
        self.node = _resolved(node, definitions)
        """The schema with its own reference resolved; references further down are not."""
        self._definitions = definitions
        self._fields: dict[str, OpenAPIType] = {}

    @property
    def type(self) -> str:
        """``object``, ``array``, ``string``, …; empty if any value is allowed."""
        kind: str = self.node.get("type", "")
        return kind

    @property
    def field_names(self) -> tuple[str, ...]:
        """The declared fields of an object; empty for maps."""
        return tuple(self.node.get("properties", ()))

    @property
    def items(self) -> OpenAPIType | None:
        """The type of a list's items."""
        return self._wrap(self.node.get("items"))

    @property
    def values(self) -> OpenAPIType | None:
        """The type of a map's values, if they are declared."""
        return self._wrap(self.node.get("additionalProperties"))

    def field(self, name: str) -> OpenAPIType | None:
        """Return the type of field `name`, be it declared or a key of a map; None if unknown."""
        known = self._fields.get(name)
        if known is None:
            declared = self.node.get("properties", {}).get(name)
            known = self.values if declared is None else self._wrap(declared)
            if known is not None:
                self._fields[name] = known
        return known

    def patch_field(self, name: str) -> PatchField | None:
        """Return how field `name` merges in a strategic merge patch; None if it is unknown."""
        field = self.field(name)
        if field is None:
            return None
        strategies = field.node.get("x-kubernetes-patch-strategy", "").split(",")
        if "merge" in strategies:
            strategy = MergeStrategy.MERGE
        elif "replace" in strategies:
            strategy = MergeStrategy.REPLACE
        else:
            strategy = MergeStrategy.DEFAULT
        return PatchField(
            schema=field.items or field,
            strategy=strategy,
            merge_key=field.node.get("x-kubernetes-patch-merge-key", ""),
            retain_keys="retainKeys" in strategies,
        )

    def _wrap(self, node: Any) -> OpenAPIType | None:
        return OpenAPIType(node, self._definitions) if isinstance(node, dict) else None


class OpenAPIDocument:
    """The document that a server answers at ``/openapi/v3/<path>``."""

    def __init__(self, file: Traversable) -> None:
        self._file = file
        self._types: dict[tuple[str, str, str], OpenAPIType] = {}

    @functools.cached_property
    def compressed(self) -> bytes:
        """The JSON text in gzip form, ready to be sent with ``Content-Encoding: gzip``."""
        return self._file.read_bytes()

    @property
    def text(self) -> bytes:
        """The JSON text."""
        return gzip.decompress(self.compressed)

    @functools.cached_property
    def definitions(self) -> Mapping[str, Node]:
        """The schemas by name (``io.k8s.api.apps.v1.Deployment``)."""
        components = msgspec.json.decode(self.text, type=_Document).components
        schemas: Mapping[str, Node] = components.get("schemas", {})
        return schemas

    def type_of(self, group: str, version: str, kind: str) -> OpenAPIType | None:
        """Return the type of a kind, or None if the document does not have it."""
        known = self._types.get((group, version, kind))
        if known is None and (name := self._names.get((group, version, kind))):
            known = OpenAPIType(self.definitions[name], self.definitions)
            self._types[group, version, kind] = known
        return known

    @functools.cached_property
    def _names(self) -> Mapping[tuple[str, str, str], str]:
        return {
            (entry["group"], entry["version"], entry["kind"]): name
            for name, node in self.definitions.items()
            for entry in node.get("x-kubernetes-group-version-kind", ())
        }


@functools.cache
def openapi_documents() -> Mapping[str, OpenAPIDocument]:
    """Return all documents by path: ``"api/v1"``, ``"apis/apps/v1"``, …"""
    root = files(__package__).joinpath("data", "openapi")
    return MappingProxyType(dict(_documents_below(root, "")))


def builtin_type(api_version: str, kind: str) -> OpenAPIType | None:
    """Return the type of a built-in kind, or None for any other.

    >>> builtin_type("apps/v1", "Deployment").field("spec").field("replicas").type
    'integer'
    """
    group, _slash, version = api_version.rpartition("/")
    document = openapi_documents().get(f"{'apis' if group else 'api'}/{api_version}")
    return None if document is None else document.type_of(group, version, kind)


class _Document(msgspec.Struct):
    """The part of a document that is decoded; the paths are four fifths of it."""

    components: dict[str, Any]


_SUFFIX = ".json.gz"


def _documents_below(directory: Traversable, prefix: str) -> Iterator[tuple[str, OpenAPIDocument]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _documents_below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), OpenAPIDocument(entry)


def _resolved(node: Node, definitions: Mapping[str, Node]) -> Node:
    """Follow ``$ref``, also where it is wrapped in ``allOf`` to stand beside other keywords."""
    reference = node.get("$ref")
    alternatives = node.get("allOf", ())
    if reference is None and len(alternatives) == 1:
        reference = alternatives[0].get("$ref")
    if reference is None:
        return node
    target = definitions[reference.rpartition("/")[2]]
    own = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
    return {**target, **own}
