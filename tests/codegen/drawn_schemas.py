"""Hypothesis strategies: schemas as other people write them, and values to hold against them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_WORDS = ("a", "ab", "A1", "", "7", "50%", "ä b")
_NAMES = st.sampled_from(
    (
        *("name", "hostIP", "podIPs", "class", "from", "int", "list", "field", "self", "3scale"),
        *("$ref", "foo", "foo_", "foo-bar", "fooBar", "x.y/z", "größe", "__init__", "to_dict"),
        *("kind", "None", "a'b", "metadata", "Any", "Literal", "type", "msgspec", "a{b}"),
    )
)
_TEXTS = st.text(max_size=40) | st.sampled_from(
    ('"""', "\\", 'ends with "', "\\N{BULLET}", "a\n\n  b", "\x00", "# noqa\n", "{x}", "long " * 40)
)
_PATTERNS = ("^a", "^[a-z]+$", r"^\d+%?$", r"\W", "[[:alpha:]]", "(?i)AB", r"\x{41}", "a{,2}")


@st.composite
def _numbers(draw: st.DrawFn) -> Schema:
    kind = draw(st.sampled_from(("integer", "number")))
    schema: Schema = {"type": kind}
    if draw(st.booleans()):
        formats = {"integer": ("int32", "int64"), "number": ("double", "float")}
        schema["format"] = draw(st.sampled_from(formats[kind]))
    for bound, exclusive in (
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ):
        if draw(st.booleans()):
            schema[bound] = draw(st.integers(-5, 9) | st.sampled_from((0.5, 2**70)))
            if draw(st.booleans()):
                schema[exclusive] = draw(st.booleans())
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from((1, 3, 0.5)))
    return schema


@st.composite
def _text(draw: st.DrawFn) -> Schema:
    schema: Schema = {"type": "string"}
    if draw(st.booleans()):
        schema["format"] = draw(st.sampled_from(("date-time", "byte", "ipv4", "unheard-of")))
    for keyword, values in (("minLength", (0, 1, 2**40)), ("maxLength", (0, 2, 2**40))):
        if draw(st.booleans()):
            schema[keyword] = draw(st.sampled_from(values))
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from(_PATTERNS))
    if draw(st.booleans()):
        schema["enum"] = draw(st.lists(st.sampled_from(_WORDS), min_size=1, unique=True))
    return schema


@st.composite
def _int_or_string(draw: st.DrawFn) -> Schema:
    schema: Schema = {_INT_OR_STRING: True}
    if draw(st.booleans()):
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from(_PATTERNS))
    if draw(st.booleans()):
        schema["minimum"] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        schema["enum"] = draw(st.lists(st.sampled_from(("a", 1, 7)), min_size=1, unique=True))
    return schema


_OPEN: tuple[Schema, ...] = (
    {"type": "boolean"},
    {_PRESERVE: True},
    {"type": "object"},
    {"type": "object", _PRESERVE: True},
    {"type": "object", _PRESERVE: True, _EMBEDDED: True},
    {"type": "integer", "enum": [1, 2, 3]},
    {"type": "number", "enum": [0.5, 1]},
    {"type": "object", "additionalProperties": True},
)


def _lists(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    extras: tuple[Schema, ...] = (
        {},
        {"minItems": 1},
        {"maxItems": 2},
        {"x-kubernetes-list-type": "atomic"},
    )
    return st.builds(
        lambda items, extra: {"type": "array", "items": items, **extra},
        inner,
        st.sampled_from(extras),
    )


def _mappings(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    extras: tuple[Schema, ...] = ({}, {"maxProperties": 2}, {"x-kubernetes-map-type": "atomic"})
    return st.builds(
        lambda values, extra: {"type": "object", "additionalProperties": values, **extra},
        inner,
        st.sampled_from(extras),
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    """An object with fields, some of them required, and now and then a union of them."""
    properties = draw(st.dictionaries(_NAMES, inner, max_size=6))
    schema: Schema = {"type": "object", "properties": properties}
    names = sorted(properties)
    if names and draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    if len(names) > 1 and draw(st.booleans()):
        schema["oneOf"] = [{"required": [name]} for name in names[:2]]
    if draw(st.booleans()):
        schema[_PRESERVE] = True
    if draw(st.booleans()):
        schema["x-kubernetes-validations"] = [{"rule": "true", "message": draw(_MESSAGES)}]
    return schema


_MESSAGES = st.sampled_from(("no", 'say "x"', "back\\slash"))


@st.composite
def _annotated(draw: st.DrawFn, schemas: st.SearchStrategy[Schema]) -> Schema:
    """A schema with what any may say: a description, nullability, a default."""
    schema = dict(draw(schemas))
    if draw(st.booleans()):
        schema["description"] = draw(_TEXTS)
    if draw(st.booleans()):
        schema["nullable"] = True
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    if draw(st.booleans()) and (default := draw(values_of(schema))) is not None:
        schema["default"] = default
    return schema


SCHEMAS: st.SearchStrategy[Schema] = st.recursive(
    _annotated(st.one_of(_numbers(), _text(), _int_or_string(), st.sampled_from(_OPEN))),
    lambda inner: _annotated(_lists(inner) | _mappings(inner) | objects(inner)),
    max_leaves=12,
)


def values_of(schema: Schema) -> st.SearchStrategy[Any]:
    """Values most of which the schema allows, or narrowly refuses."""
    if schema.get("nullable"):
        bare = {key: value for key, value in schema.items() if key != "nullable"}
        return st.none() | values_of(bare)
    if "enum" in schema:
        return st.sampled_from([item for item in schema["enum"] if item is not None])
    if _INT_OR_STRING in schema:
        return st.sampled_from((0, 2, 7, "ab", "50%"))
    if schema.get(_EMBEDDED):
        return st.just({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": 1})
    match schema.get("type"):
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-8, 8) | st.sampled_from((2**31, 3.0))
        case "number":
            return st.sampled_from((-1, 0, 0.5, 3, 7.25))
        case "string":
            return st.sampled_from((*_WORDS, "2026-01-02T03:04:05Z", "10.0.0.1", "YQ=="))
        case "array":
            return st.lists(values_of(schema["items"]), max_size=3)
        case "object" if "properties" in schema:
            members = {name: values_of(item) for name, item in schema["properties"].items()}
            return st.fixed_dictionaries(members) | st.fixed_dictionaries({}, optional=members)
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return st.dictionaries(
                st.sampled_from(_WORDS), values_of(schema["additionalProperties"]), max_size=3
            )
        case "object":
            return st.dictionaries(st.sampled_from(_WORDS), st.integers(), max_size=3)
    return st.integers() | st.dictionaries(st.sampled_from(_WORDS), st.booleans(), max_size=2)
