"""The schema of a custom resource, ready to use.

Promises: `StructuralSchema.parse` accepts the schemas that an API server accepts, and refuses
others with its causes. The result is immutable and safe for any number of threads.

Does not promise: checks of metadata, except for what the schema says of names.

Upstream has validators, structural schema and CEL programs side by side for each version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clientgo.meta.json_values import json_equal
from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError, FieldErrorReason, aggregate_message
from clientgo.testcluster.schema import defaulting
from clientgo.testcluster.schema.definition.keywords import (
    check_keywords,
    check_root,
    has_unsupported_keywords,
)
from clientgo.testcluster.schema.definition.structural import check_structure
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.json_value import MISSING
from clientgo.testcluster.schema.pruning import prune
from clientgo.testcluster.schema.values.embedded_resources import (
    embedded_resources,
    validate_embedded_resources,
)
from clientgo.testcluster.schema.values.list_types import validate_list_types
from clientgo.testcluster.schema.values.validation import validate_value
from clientgo.util.copies import CopyableError, unpicklable

if TYPE_CHECKING:
    from clientgo.testcluster.schema.rules.cel_rules import RuleNode

SCHEMA_PATH = "spec.validation.openAPIV3Schema"
"""Where causes find the schema of a CustomResourceDefinition whose versions share one schema."""

_BLOCKING = frozenset(
    {
        FieldErrorReason.NOT_SUPPORTED,
        FieldErrorReason.REQUIRED,
        FieldErrorReason.TOO_LONG,
        FieldErrorReason.TOO_MANY,
        FieldErrorReason.TYPE_INVALID,
    }
)
_RULES_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def _ignore(_: str) -> None:
    """Ignore a warning."""


class SchemaError(CopyableError, ValueError):
    """A schema is not one of a custom resource; `causes` has the reasons."""

    def __init__(self, causes: Sequence[FieldError]) -> None:
        super().__init__(causes)
        self.causes = tuple(causes)

    def __str__(self) -> str:  # not in advance: it may be much longer than the schema
        return aggregate_message(self.causes)


@unpicklable("it holds compiled rules; parse the schema in each process")
class StructuralSchema:
    """A checked schema. Immutable and safe for any number of threads; no method blocks."""

    __slots__ = ("_root", "_rules")

    def __init__(self, root: JSONSchema, rules: RuleNode | None) -> None:
        """Use `parse`."""
        self._root = root
        self._rules = rules

    @classmethod
    def parse(
        cls, openapi_v3_schema: Any, *, path: str = SCHEMA_PATH, has_status: bool = False
    ) -> StructuralSchema:
        """Check an ``openAPIV3Schema`` at `path` of its definition.

        With `has_status` the resource has the status subresource, which restricts the root.

        Raises:
            SchemaError: the schema is malformed, not structural, or has defaults that it refuses.
        """
        try:
            root = JSONSchema.parse(openapi_v3_schema)
        except msgspec.ValidationError as error:
            raise SchemaError([FieldError.invalid(path, "", str(error))]) from error
        keywords = list(check_keywords(root, path))
        causes = [*check_root(root, path, has_status=has_status), *keywords]
        if has_unsupported_keywords(root):
            detail = "the schema has a keyword that is not supported"
            raise SchemaError(causes or [FieldError.invalid(path, "", detail)])
        structure = check_structure(root, path) or list(_check_defaults(root.as_resource(), path))
        if structure:  # rules need a structural schema with valid defaults
            raise SchemaError([*structure, *causes])
        rules, rule_causes = _compile_rules(root, path, {error.field for error in keywords})
        _refuse([*causes, *rule_causes])
        if rules is not None:
            _refuse(list(_check_defaults_by_rules(rules, path)))
        return cls(root, rules)

    @property
    def root(self) -> JSONSchema:
        """The schema as a tree."""
        return self._root

    def validate(
        self, value: Any, old: Any = None, path: str = "", *, warn: Callable[[str], None] = _ignore
    ) -> list[FieldError]:
        """Return what is wrong with `value`, in an update of `old` if that is given.

        Errors in unchanged parts of an update are ignored, but `warn` is called with those of
        rules. Rules run only if no error of another kind makes them meaningless.
        """
        before = MISSING if old is None else old
        errors = [error.below(path) for error in validate_value(value, self._root, before)]
        errors.extend(validate_embedded_resources(value, self._root, path))
        return self._with_rules(errors, value, before, path, warn)

    def validate_status(
        self, value: Any, old: Any, *, warn: Callable[[str], None] = _ignore
    ) -> list[FieldError]:
        """Return what is wrong with the status of `value`, which alone differs from `old`.

        The schema is checked for the status only; rules are those of the whole object.
        """
        errors: list[FieldError] = []
        schema = self._root.properties.get("status")
        if schema is not None and "status" in value:
            before = old.get("status", MISSING)
            found = validate_value(value["status"], schema, before)
            errors += [error.below("status") for error in found]
        return self._with_rules(errors, value, old, "", warn)

    def _with_rules(
        self,
        errors: list[FieldError],
        value: Any,
        old: Any,
        path: str,
        warn: Callable[[str], None],
    ) -> list[FieldError]:
        """Return the errors with those of list types and of rules; `old` may be MISSING."""
        if old is MISSING or not validate_list_types(old, self._root, path):
            errors = [*errors, *validate_list_types(value, self._root, path)]
        if self._rules is None:
            return errors
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, FieldError.invalid(path, None, _RULES_NOT_CHECKED)]
        return [*errors, *self._rules.validate(value, old, path, warn)]

    def embedded_resources(self, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the path and content of each resource embedded anywhere in `value`."""
        return embedded_resources(value, self._root)

    def prune(self, value: Any) -> tuple[Any, list[str]]:
        """Return `value` without unknown fields and disallowed nulls, and the unknown paths.

        The paths are sorted. A null that has a default stays for `default`.
        """
        pruned, unknown = prune(value, self._root)
        return defaulting.drop_nulls(pruned, self._root), unknown

    def default(self, value: Any) -> Any:
        """Return `value` with defaults filled in, also in place of disallowed nulls."""
        return defaulting.apply_defaults(value, self._root)


def _refuse(causes: Sequence[FieldError]) -> None:
    if causes:
        raise SchemaError(causes)


def _compile_rules(
    root: JSONSchema, path: str, mistakes: Collection[str]
) -> tuple[RuleNode | None, list[FieldError]]:
    if not root.has_rules:
        return None, []
    # CEL is more than half of the import time, and few schemas have rules.
    from clientgo.testcluster.schema.rules.cel_rules import compile_rules

    return compile_rules(root, path, mistakes)


def _check_defaults(schema: JSONSchema, path: str) -> Iterator[FieldError]:
    """Return the violations of the schema by its defaults."""
    if schema.default is not None:
        where = f"{path}.default"
        kept, _ = prune(schema.default, schema, is_resource=False)
        if not json_equal(kept, schema.default):
            yield FieldError.invalid(where, schema.default, "must not have unknown fields")
        if mistakes := validate_embedded_resources(schema.default, schema, where):
            yield from mistakes
        else:
            found = validate_value(schema.default, schema.without_int_or_string())
            yield from (error.below(where) for error in found)
    if schema.item_schema is not None:
        yield from _check_defaults(schema.item_schema, f"{path}.items")
    for name, member in schema.properties.items():
        yield from _check_defaults(member, field_path.key(f"{path}.properties", name))


def _check_defaults_by_rules(node: RuleNode, path: str) -> Iterator[FieldError]:
    """Return the violations of the rules by the defaults of the schema."""
    default = node.schema.default
    if default is not None:
        where = f"{path}.default"
        for old in (default, MISSING):  # an update or a creation can set it
            yield from node.validate(default, old, where, _ignore)
    if node.items is not None:
        yield from _check_defaults_by_rules(node.items, f"{path}.items")
    for name, member in node.properties.items():
        yield from _check_defaults_by_rules(member, field_path.key(f"{path}.properties", name))
