"""Tables of built-in kinds: defaults, constraints and rules of the published types, as data.

Promises: a table is read when the first object of its kind is written, and kept. Adding a kind
means adding a file ``data/<package>/<Kind>.yaml``; a package and type are named as in the OpenAPI
documents (``core.v1``, ``Container``). A mistake in a table is a `TableError`.

A file maps types to what they add to their published type. Wherever the published type refers to a
type that the file or an included one has, the type's table applies::

    include: [core.v1/PodSpec, meta.v1/LabelSelector]   # other files with shared types

    WidgetSpec:
      defaults:
        - replicas: 1                       # set if missing; parents must exist
          strategy.type: RollingUpdate
        - when: self.strategy.type == 'RollingUpdate'   # CEL; a missing field: not applied
          strategy.rollingUpdate: {}
          alias: =self.name                 # "=": the value of an expression
      union: {fields: [a, b], none: Required, many: Forbidden, noun: handler type}
      fields:                               # paths; "[]" for items, "{}" for values of a map
        name: required dns-label immutable  # words: flags and formats
        replicas: {min: 0}                  # constraints, see `CONSTRAINTS`
        mode: {enum: [Fast, Slow], required: true}
        ports: {maxItems: 10, unique: name}
        ports[].port: port
        template.spec.restartPolicy: {enum: [Always]}     # for this use of the type only
        status.replicas: {min: 0}           # checked in writes to the status
      rules:
        - rule: self.min <= self.max        # CEL with self, oldSelf, object; true: valid
          field: min                        # where the cause is, relative to self
          reason: Invalid                   # default; or Required, Forbidden, ...
          message: must not be greater than max   # without: the rule, or nothing if Required
          needs: min max                    # not evaluated without them (paths, also item.x)
          unless: any                       # not evaluated if one of them is there
        - each: ports[]                     # evaluated for each `item` there
          rule: item.port != self.ownPort
          field: port
      references:                           # a mount names a volume that has no error
        - {each: containers[].mounts[].name, to: [volumes[].name], reason: NotFound}
      distinct:                             # names differ in all lists
        - {of: [containers[].name, initContainers[].name]}
        - {of: [containers[].ports[]], by: [hostPort, protocol], field: hostPort}

A rule that reads a missing field does not apply (write ``a || b`` and no ``a && b`` with such a
field); ``has(self.x)`` and ``self.?x`` read fields that may be missing. ``when: create`` or ``when:
update`` says when a rule applies, ``status: true`` that a rule of a kind is about its status.
``oldSelf`` is known in updates, outside of lists. Empty texts are not checked (a required one is
reported as missing), unless the constraint ``empty`` is set.

Differs from upstream: there each group has a ``defaults.go`` and a ``validation.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

import msgspec

from clientgo.testcluster.server.kinds.tables.formats import FORMATS

FLAGS: Final = frozenset({"required", "immutable", "forbidden", "empty", "unique"})

CONSTRAINTS: Final = FLAGS | {
    "at",  # the path of causes, relative to the parent; "^": without the last index,
    # "^^": without the name before that, too
    "check",  # the name of a function in `functions`
    "checks",  # another type whose table applies here
    "enum",  # the supported values
    "format",  # names of formats: each problem is a cause
    "keys",  # the format of the keys of a map, at the key
    "max",
    "maxItems",
    "maxLength",
    "min",  # of a number or quantity
    "pattern",
    "reason",  # of the causes of format, min, max and pattern
    "rules",
}
"""What can be said of a field. A flag can be a reason (``required: Invalid``); ``immutable`` also
``{except: [paths], reason: Forbidden, message: text}``, and ``unique`` the fields that differ."""

_TYPE_KEYS = frozenset(
    {"check", "defaults", "distinct", "extends", "fields", "references", "rules", "union"}
)
_RULE_KEYS = frozenset(
    {"rule", "field", "reason", "message", "each", "needs", "status", "unless", "when"}
)
_DISTINCT_KEYS = frozenset({"of", "by", "field", "reason", "report"})
_REFERENCE_KEYS = frozenset({"each", "by", "to", "reason"})
_UNION_KEYS = frozenset({"fields", "none", "many", "at", "noun"})
ITEMS: Final = "[]"
VALUES: Final = "{}"


class TableError(ValueError):
    """A table of a built-in kind has a mistake."""


class Place(msgspec.Struct):
    """What tables say of the values at one place of a type."""

    constraints: dict[str, Any] = msgspec.field(default_factory=dict)
    rules: list[Mapping[str, Any]] = msgspec.field(default_factory=list)
    references: list[Mapping[str, Any]] = msgspec.field(default_factory=list)
    distinct: list[Mapping[str, Any]] = msgspec.field(default_factory=list)
    defaults: list[Mapping[str, Any]] = msgspec.field(default_factory=list)
    union: Mapping[str, Any] | None = None
    members: dict[str, Place] = msgspec.field(default_factory=dict)
    """Places below, by field name, `ITEMS` or `VALUES`."""

    @property
    def says_nothing(self) -> bool:
        """Return True if there is nothing to do with a value itself."""
        own = (self.constraints, self.rules, self.references, self.distinct, self.defaults)
        return not (any(own) or self.union)

    def copy(self) -> Place:
        """Return a copy that can be added to."""
        return Place(
            dict(self.constraints),
            list(self.rules),
            list(self.references),
            list(self.distinct),
            list(self.defaults),
            self.union,
            {step: place.copy() for step, place in self.members.items()},
        )

    def below(self, path: str) -> Place:
        """Return the place at a path, made if it is new."""
        place = self
        for step in split_path(path):
            place = place.members.setdefault(step, Place())
        return place


def split_path(path: str) -> Iterator[str]:
    """Yield the steps of a path: ``a.b[].c`` as a, b, [], c."""
    for name in path.split("."):
        bare = name.rstrip("[]{}")
        if bare:
            yield bare
        suffix = name[len(bare) :]
        for start in range(0, len(suffix), 2):
            yield suffix[start : start + 2]


@functools.cache
def load_types(file: str) -> Mapping[str, Place]:
    """Return the places of all types of a file and of those that it includes.

    Raises:
        TableError: the file has a mistake.
    """
    import yaml  # slow to import, and not needed to start

    text = _DATA.joinpath(f"{file}.yaml").read_text(encoding="utf-8")
    document = yaml.load(text, yaml.CSafeLoader)  # noqa: TID251 - our own table, by the faster loader
    types: dict[str, Place] = {}
    for included in document.pop("include", ()):
        types.update(load_types(included))
    package = file.partition("/")[0]
    for name, table in document.items():
        where = f"{file}: {name}"
        inherited = (table or {}).get("extends")
        place = types[_qualified(package, inherited)] if inherited else None
        types[_qualified(package, name)] = _read_type(table or {}, where, place)
    return types


def has_table(file: str) -> bool:
    """Return True if there is a table of this name."""
    return _DATA.joinpath(f"{file}.yaml").is_file()


_DATA = files("clientgo.testcluster.server.kinds").joinpath("data")


def _qualified(package: str, name: str) -> str:
    return name if "." in name else f"{package}.{name}"


def _read_type(table: Mapping[str, Any], where: str, inherited: Place | None) -> Place:
    _check_keys(table, _TYPE_KEYS, where)
    place = inherited.copy() if inherited is not None else Place()
    defaults = table.get("defaults", [])
    place.defaults += [defaults] if isinstance(defaults, dict) else defaults
    place.union = table.get("union", place.union)
    if "check" in table:
        place.constraints["check"] = table["check"]
    _check_keys(place.union or {}, _UNION_KEYS, f"{where}.union")
    place.rules += _read_all(table.get("rules", ()), _RULE_KEYS, where)
    place.references += _read_all(table.get("references", ()), _REFERENCE_KEYS, where)
    place.distinct += _read_all(table.get("distinct", ()), _DISTINCT_KEYS, where)
    for path, said in table.get("fields", {}).items():
        if inherited is not None and path in inherited.members:
            place.members[path] = Place()  # replaces what was inherited
        target = place.below(path)
        constraints = _read_constraints(said, f"{where}.{path}")
        target.rules += _read_all(constraints.pop("rules", ()), _RULE_KEYS, f"{where}.{path}")
        target.constraints.update(constraints)
    return place


def _read_constraints(said: Any, where: str) -> dict[str, Any]:
    if isinstance(said, str):
        words = said.split()
        constraints: dict[str, Any] = {word: True for word in words if word in FLAGS}
        if formats := [word for word in words if word not in FLAGS]:
            constraints["format"] = formats
    else:
        constraints = dict(said or {})
        if isinstance(named := constraints.get("format"), str):
            constraints["format"] = named.split()
    _check_keys(constraints, CONSTRAINTS, where)
    for name in (*constraints.get("format", ()), *filter(None, [constraints.get("keys")])):
        if name not in FORMATS:
            raise TableError(f"{where}: there is no format {name!r}")
    return constraints


def _read_all(entries: Any, allowed: frozenset[str], where: str) -> list[Mapping[str, Any]]:
    for entry in entries:
        _check_keys(entry, allowed, where)
    return list(entries)


def _check_keys(table: Mapping[str, Any], allowed: frozenset[str], where: str) -> None:
    if unknown := table.keys() - allowed:
        raise TableError(f"{where}: {', '.join(sorted(unknown))} is not known")
