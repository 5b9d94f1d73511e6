"""Policy rules: what a rule of a role allows, and whether rules cover other rules.

Upstream: ``pkg/apis/rbac/v1`` evaluation helpers, component-helpers ``auth/rbac/validation``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

import msgspec
from msgspec.structs import replace

RBAC_GROUP: Final = "rbac.authorization.k8s.io"

EVERY: Final = "*"

_FIELDS: Final = {
    "api_groups": "apiGroups",
    "resources": "resources",
    "paths": "nonResourceURLs",
    "names": "resourceNames",
    "verbs": "verbs",
}
"""The fields of a ``PolicyRule``, in the order of messages."""


class PolicyRule(msgspec.Struct, frozen=True):
    """A rule of a role: verbs of resources, or of paths that are no resources."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @classmethod
    def parse(cls, rule: Mapping[str, Any]) -> PolicyRule:
        """Return a rule of a role."""
        return cls(**{name: tuple(rule.get(key) or ()) for name, key in _FIELDS.items()})

    def as_policy_rule(self) -> dict[str, Any]:
        """Return the rule as a ``PolicyRule``, without its empty fields."""
        values = ((key, getattr(self, name)) for name, key in _FIELDS.items())
        return {key: list(value) for key, value in values if value}

    def __str__(self) -> str:
        values = ((key, getattr(self, name)) for name, key in _FIELDS.items())
        shown = (f"{_title(key)}:{quoted(value)}" for key, value in values if value)
        return f"{{{', '.join(shown)}}}"

    def allows_resource(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Return True if the rule has the verb of the resource, perhaps for some names only."""
        return (
            _has(self.verbs, verb)
            and _has(self.api_groups, group)
            and _has_resource(self.resources, resource, subresource)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Return True if the rule has the verb of a path."""
        return _has(self.verbs, verb) and _has_path(self.paths, path)

    def parts(self) -> Iterator[PolicyRule]:
        """Yield rules of one verb and one resource, name or path each, which together equal it."""
        for group, resource, verb in product(self.api_groups, self.resources, self.verbs):
            part = PolicyRule((verb,), (group,), (resource,))
            if self.names:
                yield from (replace(part, names=(name,)) for name in self.names)
            else:
                yield part
        for path, verb in product(self.paths, self.verbs):
            yield PolicyRule((verb,), paths=(path,))

    def covers(self, part: PolicyRule) -> bool:
        """Return True if the rule allows all that a part of another one allows."""
        if not _has(self.verbs, *part.verbs):
            return False
        if part.paths:
            return _has_path(self.paths, *part.paths)
        resource, _, subresource = part.resources[0].partition("/")
        return (
            _has(self.api_groups, *part.api_groups)
            and _has_resource(self.resources, resource, subresource)
            and (not self.names or (bool(part.names) and set(part.names) <= set(self.names)))
        )


EVERYTHING: Final = (
    PolicyRule(verbs=(EVERY,), api_groups=(EVERY,), resources=(EVERY,)),
    PolicyRule(verbs=(EVERY,), paths=(EVERY,)),
)


def missing_rules(held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return what ``wanted`` allows and ``held`` does not, verbs of a resource in one rule."""
    held = list(held)
    parts = [part for rule in wanted for part in rule.parts()]
    return compact(part for part in parts if not any(rule.covers(part) for rule in held))


def compact(parts: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return parts of rules with the verbs of the same resource in one rule."""
    verbs: dict[PolicyRule, dict[str, None]] = {}
    for part in parts:
        verbs.setdefault(replace(part, verbs=()), {}).update(dict.fromkeys(part.verbs))
    return [replace(rule, verbs=tuple(found)) for rule, found in verbs.items()]


def quoted(words: Iterable[str]) -> str:
    """Return words as Go prints a list of strings with ``%q``."""
    return f"[{' '.join(json.dumps(word, ensure_ascii=False) for word in words)}]"


def _title(key: str) -> str:
    """Return the name of a field as Go spells it."""
    return key.replace("api", "API") if key.startswith("api") else f"{key[0].upper()}{key[1:]}"


def _has(allowed: tuple[str, ...], *wanted: str) -> bool:
    return EVERY in allowed or all(word in allowed for word in wanted)


def _has_resource(allowed: tuple[str, ...], resource: str, subresource: str) -> bool:
    if EVERY in allowed:
        return True
    if not subresource:
        return resource in allowed
    return f"{resource}/{subresource}" in allowed or f"*/{subresource}" in allowed


def _has_path(allowed: tuple[str, ...], *wanted: str) -> bool:
    prefixes = tuple(path[:-1] for path in allowed if path.endswith(EVERY))
    return all(path in allowed or path.startswith(prefixes) for path in wanted)
