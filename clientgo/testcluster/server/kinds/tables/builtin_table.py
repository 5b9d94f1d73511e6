"""What the table of a kind does to its objects.

Promises: a kind without a table has no defaults and no causes here.
"""

from __future__ import annotations

import functools
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.tables.defaulting import Defaulter, compile_defaults
from clientgo.testcluster.server.kinds.tables.nodes import Node, kind_node
from clientgo.testcluster.server.kinds.tables.validation.causes import Check, Run
from clientgo.testcluster.server.kinds.tables.validation.checks import compile_checks
from clientgo.testcluster.server.kinds.tables.validation.rules import compile_rule

_STATUS = "status"


class BuiltinTable:
    """The defaults and checks of a built-in kind; the table is read on first use. Thread-safe."""

    def __init__(self, api_version: str, kind: str) -> None:
        self._api_version = api_version
        self._kind = kind

    @functools.cached_property
    def _node(self) -> Node | None:
        return kind_node(self._api_version, self._kind)

    @property
    def exists(self) -> bool:
        """Return True if the kind has a table."""
        return self._node is not None

    @functools.cached_property
    def _defaults(self) -> Defaulter | None:
        return compile_defaults(self._node) if self._node else None

    @functools.cached_property
    def _status_defaults(self) -> Defaulter | None:
        status = self._node.members.get(_STATUS) if self._node else None
        return compile_defaults(status) if status else None

    @functools.cached_property
    def _checks(self) -> Check | None:
        return compile_checks(self._node, skipped=(_STATUS,)) if self._node else None

    @functools.cached_property
    def _status_checks(self) -> list[tuple[str, Check]]:
        if self._node is None:
            return []
        checks = [
            ("", compile_rule(rule))
            for place in self._node.places
            for rule in place.rules
            if rule.get("status")
        ]
        status = self._node.members.get(_STATUS)
        below = compile_checks(status) if status else None
        return [*checks, (_STATUS, below)] if below else checks

    def set_defaults(self, obj: Any) -> None:
        """Set the defaults in an object, in place."""
        if self._defaults is not None:
            self._defaults(obj)

    def set_status_defaults(self, obj: Any) -> None:
        """Set the defaults of the type of the status in an object, in place."""
        if self._status_defaults is not None:
            self._status_defaults(obj[_STATUS])

    def validate(self, obj: Any, old: Any = None) -> list[FieldError]:
        """Return the errors of an object, and of its change if there is an old one."""
        if self._checks is None:
            return []
        run = Run(obj, old is not None)
        self._checks(obj, old, "", run)
        return run.errors

    def validate_status(self, obj: Any, old: Any) -> list[FieldError]:
        """Return the errors of the status of an object, and of its change."""
        run = Run(obj, is_update=True)
        for name, check in self._status_checks:
            value = obj.get(name) if name else obj
            before = old.get(name) if name else old
            if value is not None:
                check(value, before, name, run)
        return run.errors


@functools.cache
def builtin_table(api_version: str, kind: str) -> BuiltinTable:
    """Return the table of a kind; all servers of a process share it, as its checks take time."""
    return BuiltinTable(api_version, kind)
