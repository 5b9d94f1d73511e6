"""The checks of the Pod Security Standards: what ``checks.yaml`` says of a pod.

Promises: the order, reasons and details of upstream. The table is read with the first pod of a
namespace that has a level.

Upstream: ``k8s.io/pod-security-admission/policy``; there each check is a file.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

import msgspec

from clientgo.meta.decoding import convert
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text import go_format

LATEST: Final = 36
"""The minor version whose policy is the latest one; it is that of later versions, too."""

_NEVER: Final = LATEST + 1

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


class Violation(msgspec.Struct, frozen=True):
    """What a check does not allow."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


def violations(level: str, version: int, template: Object) -> list[Violation]:
    """Return what a level does not allow a pod, or the pods of a template."""
    version = min(version, LATEST)
    checks = _checks(level, version)
    subjects = _subjects(template) if checks else []
    found = (check.violation(version, subjects) for check in checks)
    return [violation for violation in found if violation is not None]


class _Subject(msgspec.Struct, frozen=True):
    """What can set fields: the spec of a pod, a container, a volume, or an annotation."""

    kind: str
    name: str
    fields: Object

    def read(self, path: str) -> list[Any]:
        """Return the values at a path of the table."""
        if self.kind == "annotations":
            return [self.fields[self.name]] if _is(self.name, path) else []
        return _read(self.fields, path)


def _subjects(template: Object) -> list[_Subject]:
    """Return all subjects; the pod is the first one."""
    spec = template["spec"]
    annotations = template.get("metadata", {}).get("annotations") or {}
    containers = (item for field in _CONTAINERS for item in spec.get(field) or ())
    return [
        _Subject("pod", "", spec),
        *(_Subject("containers", item["name"], item) for item in containers),
        *(_Subject("volumes", item["name"], item) for item in spec.get("volumes") or ()),
        *(_Subject("annotations", name, annotations) for name in annotations),
    ]


def _read(value: Any, path: str) -> list[Any]:
    name, _, rest = path.partition(".")
    if name == "*":
        return list(value)
    found = value.get(name.removesuffix("[]"))
    if found is None:
        return []
    if name.endswith("[]"):
        return [each for item in found for each in (_read(item, rest) if rest else [item])]
    return _read(found, rest) if rest else [found]


def _is(value: str, known: str) -> bool:
    """Return True if a value is a known one, or begins as one that ends with ``*``."""
    return value == known or (known[-1:] == "*" and value.startswith(known[:-1]))


class _Found(msgspec.Struct):
    """The names of subjects, by their kind, and their bad values as they are shown."""

    names: dict[str, list[str]] = msgspec.field(default_factory=dict)
    values: dict[str, None] = msgspec.field(default_factory=dict)

    def add(self, subject: _Subject, values: Iterable[str] = ()) -> None:
        names = self.names.setdefault(subject.kind, [])
        if subject.name not in names:
            names.append(subject.name)
        self.values |= dict.fromkeys(values)

    def words(self, template: str, said: Iterable[str] = ()) -> str:
        """Return a template of the table with what was found."""
        return template.format(
            setters=" and ".join(_setters(kind, names) for kind, names in self.names.items()),
            uses="uses" if sum(map(len, self.names.values())) == 1 else "use",
            values=_quoted(sorted(self.values)),
            plain=", ".join(sorted(self.values)),
            listed=", ".join(self.values),
            s="" if len(self.values) == 1 else "s",
            found="; ".join(said),
        )


def _setters(kind: str, names: list[str]) -> str:
    noun = kind.removesuffix("s") if len(names) == 1 else kind
    return noun if kind in ("pod", "annotations") else f"{noun} {_quoted(names)}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


class _Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a check looks for; ``checks.yaml`` explains the fields."""

    at: list[str]
    of: list[str]
    allowed: list[Any] | dict[Any, int] | None = None
    forbidden: list[Any] | None = None
    default: Any = None
    includes: str = ""
    show: str = "{value}"
    by_name: bool = False
    says: str = ""
    missing: str = ""

    def bad(self, subject: _Subject, version: int) -> list[str]:
        """Return the bad values of a subject as they are shown."""
        return [
            self.show.format(at=at, value=value, quoted=go_format.quote(str(value)))
            for at, value in self._values(subject)
            if self._is_bad(value, version)
        ]

    def unset(self, subjects: list[_Subject]) -> _Found:
        """Return the containers that set no value; none if the pod, the first subject, does."""
        found = _Found()
        if not self._values(subjects[0]):
            for subject in subjects:
                if subject.kind == "containers" and not self._values(subject):
                    found.add(subject)
        return found

    def _values(self, subject: _Subject) -> list[tuple[str, Any]]:
        """Return the values that count, with the paths or names where they are."""
        values = [(subject.name or at, value) for at in self.at for value in subject.read(at)]
        return [("", self.default)] if not values and self.default is not None else values

    def _is_bad(self, value: Any, version: int) -> bool:
        if self.includes:
            return self.includes not in value
        if self.forbidden is not None:
            return value in self.forbidden
        if self.allowed is None:
            return bool(value)
        since = self.allowed if isinstance(self.allowed, dict) else dict.fromkeys(self.allowed, 0)
        return not any(since[known] <= version and _is(value, known) for known in since)


class _Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A check of some versions."""

    id: str
    level: str
    reason: str
    find: list[_Finding]
    detail: str = "{found}"
    since: int = 0
    until: int = LATEST
    overrides: list[str] = []
    windows: int = _NEVER
    user_namespaces: int = _NEVER

    def violation(self, version: int, subjects: list[_Subject]) -> Violation | None:
        """Return what is not allowed; None if everything is."""
        if self._lets_pass(version, subjects[0].fields):
            return None
        total, said = _Found(), []
        looks = [(finding, _Found()) for finding in self.find]
        for subject in subjects:
            for finding, found in looks:
                if subject.kind in finding.of and (bad := finding.bad(subject, version)):
                    found.add(subject, bad)
                    total.add(subject, bad)
        for finding, found in looks:
            if finding.by_name:
                found.names = {kind: sorted(names) for kind, names in found.names.items()}
            if found.names:
                said.append(found.words(finding.says))
            elif finding.missing and (unset := finding.unset(subjects)).names:
                said.append(unset.words(finding.missing))
        return Violation(total.words(self.reason), total.words(self.detail, said)) if said else None

    def _lets_pass(self, version: int, spec: Object) -> bool:
        if version >= self.windows and (spec.get("os") or {}).get("name") == "windows":
            return True
        return version >= self.user_namespaces and spec.get("hostUsers") is False


@functools.cache
def _checks(level: str, version: int) -> list[_Check]:
    """Return the checks of a level: those of baseline first, then by id."""
    levels = {"baseline": ["baseline"], "restricted": ["baseline", "restricted"]}.get(level, [])
    current = [
        check
        for check in _table()
        if check.level in levels and check.since <= version <= check.until
    ]
    overridden = {name for check in current for name in check.overrides}
    return [check for check in current if check.id not in overridden]


@functools.cache
def _table() -> list[_Check]:
    import yaml  # slow to import, and not needed to start

    text = files(__package__).joinpath("checks.yaml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)  # noqa: TID251 - our own table, by the faster loader
    checks = []
    for name, table in tables.items():
        own = {key: table.pop(key) for key in list(table) if key in _Check.__struct_encode_fields__}
        find = [*own.pop("find", ()), *([table] if table else ())]
        for finding in find:
            finding["at"] = finding["at"].split()
            finding["of"] = finding.get("of", "containers").split()
        checks.append(convert({**own, "id": name, "find": find}, _Check))
    return sorted(checks, key=lambda check: (check.level, check.id))
