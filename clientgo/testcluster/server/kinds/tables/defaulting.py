"""Set the defaults of tables in an object.

Promises: the defaults of a type are set before those of the types below; later groups see earlier
ones. A value that is there stays. An empty text is none, unless the table says that it is checked
(``empty``): upstream such a field is a pointer.

Upstream: ``defaults.go`` of each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clientgo.meta.json_values import copy_json
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.testcluster.server.kinds.tables.expressions import NO_VALUE, Expression
from clientgo.testcluster.server.kinds.tables.kind_table import ITEMS, split_path
from clientgo.testcluster.server.kinds.tables.nodes import Node
from clientgo.testcluster.server.kinds.tables.type_names import REPEATED_TYPES, short_name

_UNSET = (None, "")
_UNSET_POINTER = (None,)

Defaulter = Callable[[Any], None]
"""Sets defaults in a value, in place."""


def compile_defaults(node: Node) -> Defaulter | None:
    """Return what sets the defaults of a node and below; None if there are none."""
    own = [_compile_group(group, node) for place in node.places for group in place.defaults]
    members = [
        (name, default)
        for name, member in node.members.items()
        if (default := compile_defaults(member)) is not None
    ]
    inner = node.items or node.values
    each = compile_defaults(inner) if inner else None

    def set_in_object(value: Any) -> None:
        for default in own:
            default(value)
        for name, default in members:
            if (member := value.get(name)) is not None:
                default(member)

    def set_in_each(value: Any) -> None:
        for member in value.values() if isinstance(value, dict) else value:
            if member is not None and each is not None:
                each(member)

    if own or members:
        is_repeated = short_name(node.type.name) in REPEATED_TYPES
        return _for_new_values(set_in_object) if is_repeated else set_in_object
    return set_in_each if each is not None else None


def _for_new_values(default: Defaulter) -> Defaulter:
    """Set the defaults of a value that was seen before without computing them."""
    known = RepeatedValues()

    def set_in_object(value: dict[str, Any]) -> None:
        key = value_key(value)
        result = known.result(key)
        if result is None:
            default(value)
            known.remember(key, value)
        else:
            value.clear()
            value.update(result)

    return set_in_object


def _compile_group(group: Mapping[str, Any], node: Node) -> Defaulter:
    condition = Expression(group["when"]).evaluate if "when" in group else None
    settings = [
        _Setting(path, value, _UNSET_POINTER if _checks_empty(node, path) else _UNSET)
        for path, value in group.items()
        if path != "when"
    ]

    def apply(value: Any) -> None:
        if condition is None or condition({"self": value}) is True:
            for setting in settings:
                setting.apply(value)

    def apply_plain(value: Any) -> None:
        if condition is None or condition({"self": value}) is True:
            for name, default, unset in plain:
                if value.get(name) in unset:
                    value[name] = default

    plain = [setting.plain for setting in settings if setting.plain is not None]
    return apply_plain if len(plain) == len(settings) else apply


def _checks_empty(node: Node, path: str) -> bool:
    """Return True if an empty text at a path is a value that is checked."""
    found: Node | None = node
    for step in split_path(path):
        if found is None:
            return False
        found = found.items if step == ITEMS else found.members.get(step)
    return found is not None and any(place.constraints.get("empty") for place in found.places)


class _Setting:
    """One default at a path."""

    def __init__(self, path: str, value: Any, unset: tuple[Any, ...]) -> None:
        self._unset = unset
        *self._parents, self._name = split_path(path)
        is_expression = isinstance(value, str) and value.startswith("=")
        self._expression = Expression(value[1:]) if is_expression else None
        self._value = value
        self._is_plain = not isinstance(value, dict | list)
        self.plain: tuple[str, Any, tuple[Any, ...]] | None = None
        """Name, value and what counts as unset, if the field of the object itself is set to it."""
        if self._is_plain and not self._parents and not is_expression:
            self.plain = (self._name, value, unset)

    def apply(self, root: Any) -> None:
        """Set the default where the parent exists and the field is missing or null."""
        for parent in _objects(root, self._parents) if self._parents else (root,):
            if parent.get(self._name) not in self._unset:
                continue
            if self._expression is None:
                parent[self._name] = self._value if self._is_plain else copy_json(self._value)
                continue
            value = self._expression.evaluate({"self": root, "item": parent})
            if value is not NO_VALUE and value is not None:
                parent[self._name] = copy_json(value)


def _objects(value: Any, path: list[str]) -> Iterator[dict[str, Any]]:
    if not path:
        if isinstance(value, dict):
            yield value
    elif path[0] == ITEMS:
        for item in value or ():
            yield from _objects(item, path[1:])
    elif isinstance(value, dict):
        yield from _objects(value.get(path[0]), path[1:])
