"""The OpenAPI v3 documents of built-in kinds.

Promises: a document is loaded when it is first used (a few milliseconds), and kept. `OpenAPIType`
resolves references, and merges the keywords of a field with those of its type. Instances are
immutable and safe for any number of threads.

Does not promise: validation, or printer columns, which are not in the documents.

Upstream: ``k8s.io/kube-openapi``, and ``strategicpatch.PatchMetaFromOpenAPIV3`` for patches.
``hack/pack_openapi.py`` makes ``data/openapi``.
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

from clientgo.meta.decoding import decode
from clientgo.testcluster.fields.strategic_merge.schema import MergeStrategy, PatchField

Node = Mapping[str, Any]

_QUANTITY = [{"type": "string"}, {"type": "number"}]
"""The alternatives by which the documents describe a quantity."""


class Definitions:
    """Named schemas that refer to each other, each wrapped once."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        """The schemas as they are written, by name (``io.k8s.api.apps.v1.Deployment``)."""
        self._types: dict[str, OpenAPIType] = {}

    def type(self, name: str) -> OpenAPIType:
        """Return a named type; raises ``KeyError`` if there is none of that name."""
        known = self._types.get(name)
        if known is None:
            known = self._types[name] = OpenAPIType(self.nodes[name], self, name)
        return known

    def wrap(self, node: Node) -> OpenAPIType:
        """Return the type that `node` describes or refers to."""
        name = referenced_name(node)
        if name is None:
            return OpenAPIType(node, self)
        own = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
        return OpenAPIType({**self.nodes[name], **own}, self, name) if own else self.type(name)


class OpenAPIType:
    """A type, or the type of a field, as an OpenAPI document describes it.

    It is a `PatchSchema`, so that it can drive strategic merge patches.
    """

    def __init__(self, node: Node, definitions: Definitions, name: str = "") -> None:
        self.node = node
        """The schema, its own reference resolved; references further down are not."""
        self.name = name
        """The name of the definition; empty if the type is described in place."""
        self._definitions = definitions
        self._fields: dict[str, OpenAPIType] = {}

    @property
    def type(self) -> str:
        """``object``, ``array``, ``string``, …; empty if any value is allowed."""
        kind: str = self.node.get("type", "")
        return kind

    @property
    def is_quantity(self) -> bool:
        """True for quantities such as ``500m``."""
        return self.node.get("oneOf") == _QUANTITY

    @property
    def field_names(self) -> tuple[str, ...]:
        """The declared fields of an object; empty for maps."""
        return tuple(self.node.get("properties", ()))

    @functools.cached_property
    def items(self) -> OpenAPIType | None:
        """The type of a list's items."""
        return self._wrap(self.node.get("items"))

    @functools.cached_property
    def values(self) -> OpenAPIType | None:
        """The type of a map's values, if they are declared."""
        return self._wrap(self.node.get("additionalProperties"))

    def field(self, name: str) -> OpenAPIType | None:
        """Return the type of field `name`, declared or a key of a map; None if unknown."""
        known = self._fields.get(name)
        if known is None:
            declared = self._wrap(self.node.get("properties", {}).get(name))
            if declared is None:
                return self.values
            known = self._fields[name] = declared
        return known

    def another(self, name: str) -> OpenAPIType:
        """Return another type of the same document; raises ``KeyError`` if there is none."""
        return self._definitions.type(name)

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
        )

    def _wrap(self, node: Any) -> OpenAPIType | None:
        return self._definitions.wrap(node) if isinstance(node, dict) else None


class OpenAPIDocument:
    """The document that a server answers at ``/openapi/v3/<path>``."""

    def __init__(self, file: Traversable) -> None:
        self._file = file

    @functools.cached_property
    def compressed(self) -> bytes:
        """The JSON text in gzip form, ready to be sent with ``Content-Encoding: gzip``."""
        return self._file.read_bytes()

    @property
    def text(self) -> bytes:
        """The JSON text."""
        return gzip.decompress(self.compressed)

    @functools.cached_property
    def definitions(self) -> Definitions:
        """The schemas of the document."""
        return Definitions(decode(self.text, _Document).components["schemas"])

    def definition_of(self, group: str, version: str, kind: str) -> str | None:
        """Return the name of the definition of a kind, or None if the document lacks it."""
        return self._names.get((group, version, kind))

    @functools.cached_property
    def _names(self) -> Mapping[tuple[str, str, str], str]:
        return {
            (entry["group"], entry["version"], entry["kind"]): name
            for name, node in self.definitions.nodes.items()
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
    found = builtin_definition(api_version, kind)
    return None if found is None else found[0].type(found[1])


def builtin_definition(api_version: str, kind: str) -> tuple[Definitions, str] | None:
    """Return the definitions that contain a built-in kind, and its name in them.

    The document of the core group has the kinds that only subresources have: Scale, Eviction ...
    """
    group, _slash, version = api_version.rpartition("/")
    for path in (f"{'apis' if group else 'api'}/{api_version}", "api/v1"):
        document = openapi_documents().get(path)
        name = document and document.definition_of(group, version, kind)
        if document and name:
            return document.definitions, name
    return None


def referenced_name(node: Node) -> str | None:
    """Return the definition that `node` refers to, if it does.

    A reference that stands beside other keywords is wrapped in an ``allOf`` of one.
    """
    reference = node.get("$ref")
    alternatives = node.get("allOf", ())
    if reference is None and len(alternatives) == 1:
        reference = alternatives[0].get("$ref")
    return None if reference is None else reference.rpartition("/")[2]


class _Document(msgspec.Struct):
    """The part of a document that is decoded: a fifth, without the paths."""

    components: dict[str, Any]


_SUFFIX = ".json.gz"


def _documents_below(directory: Traversable, prefix: str) -> Iterator[tuple[str, OpenAPIDocument]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _documents_below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), OpenAPIDocument(entry)
