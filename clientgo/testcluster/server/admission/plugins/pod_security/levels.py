"""The labels by which a namespace chooses a Pod Security level.

Does not promise an audit log: the labels for it are validated, and have no other effect.

Upstream: ``k8s.io/pod-security-admission/api``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.admission.plugins.pod_security.checks import (
    LATEST,
    Violation,
    violations,
)
from clientgo.testcluster.server.storage.storage import Object

_PREFIX: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = ("privileged", "baseline", "restricted")
_LATEST: Final = "latest"
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]{0,17})")


class Level(msgspec.Struct, frozen=True):
    """A level as some version of Kubernetes defines it."""

    name: str
    version: str

    @property
    def strictness(self) -> int:
        """Return a number, greater for a stricter level; 0 for one that allows everything."""
        return _LEVELS.index(self.name)

    def violations(self, template: Object) -> list[Violation]:
        """Return what the level does not allow a pod, or the pods of a template."""
        version = LATEST if self.version == _LATEST else int(self.version.removeprefix("v1."))
        return violations(self.name, version, template)

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


class Levels(msgspec.Struct, frozen=True):
    """The levels of a namespace, and the errors of its labels."""

    enforce: Level
    warn: Level
    errors: list[FieldError]

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Levels | None:
        """Return the levels that labels choose; None if none of them is about levels.

        An invalid label means the strictest level and the latest version, and no warnings.
        """
        if not any(key.startswith(_PREFIX) for key in labels):
            return None
        errors: list[FieldError] = []
        names, versions = {}, {}
        for mode in ("enforce", "audit", "warn"):
            name = labels.get(f"{_PREFIX}{mode}", _LEVELS[0])
            if name not in _LEVELS:
                errors.append(_error(mode, name, f"must be one of {', '.join(_LEVELS)}"))
                name = _LEVELS[-1] if mode == "enforce" else _LEVELS[0]
            version = labels.get(f"{_PREFIX}{mode}-version", _LATEST)
            if version != _LATEST and not _VERSION.fullmatch(version):
                errors.append(_error(f"{mode}-version", version, 'must be "latest" or "v1.x"'))
                version = _LATEST
            names[mode], versions[mode] = name, version
        if f"{_PREFIX}warn" not in labels and labels.get(f"{_PREFIX}enforce") in _LEVELS[1:]:
            names["warn"] = names["enforce"]
            if f"{_PREFIX}warn-version" not in labels:
                versions["warn"] = versions["enforce"]
        enforce, warn = (Level(names[mode], versions[mode]) for mode in ("enforce", "warn"))
        return cls(enforce, warn, errors)


def _error(label: str, value: str, detail: str) -> FieldError:
    return FieldError.invalid(field_path.key("metadata.labels", _PREFIX + label), value, detail)
