"""CustomResourceDefinitions as objects: defaults, validation, and how their deletion begins.

Upstream: apiextensions ``pkg/registry/customresourcedefinition``.
"""

from __future__ import annotations

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.crds.validation import (
    CLEANUP_FINALIZER,
    unknown_formats,
    validate_crd,
    validate_crd_status,
    validate_crd_update,
)
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text import go_format


class CrdStrategy(StatusStrategy):
    """CustomResourceDefinitions."""

    deletion_finalizers = (CLEANUP_FINALIZER,)

    def default(self, obj: Object) -> None:
        """Set the conversion strategy, the names that follow from others, and what is stored."""
        spec = obj["spec"]
        spec.setdefault("conversion", {"strategy": "None"})
        webhook = spec["conversion"].get("webhook") or {}
        if service := (webhook.get("clientConfig") or {}).get("service"):
            service.setdefault("port", 443)
        names = spec["names"]
        if kind := names.get("kind"):
            for field, value in (("singular", kind.lower()), ("listKind", f"{kind}List")):
                if not names.get(field):
                    names[field] = value
        if "status" in obj and not obj["status"].get("storedVersions"):
            obj["status"]["storedVersions"] = _storage_version(obj)

    def initial_status(self, obj: Object) -> Object:
        """Return a status without conditions, with the storage version."""
        return {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storage_version(obj),
        }

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; add a new storage version to it."""
        super().prepare_for_update(new, old)
        stored = list(old.get("status", {}).get("storedVersions") or ())
        stored += [name for name in _storage_version(new) if name not in stored]
        new["status"] = {**new.get("status", {}), "storedVersions": stored}

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of the definition; its type has no other rules."""
        return validate_crd(obj)

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of the definition and of the change."""
        return validate_crd_update(new, old)

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of the status."""
        return validate_crd_status(new)

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Return the formats of strings and numbers that the server does not know, if new."""
        known = set(unknown_formats(old)) if old else ()
        found = (name for name in unknown_formats(new) if name not in known)
        return [f"unrecognized format {go_format.quote(name)}" for name in found]


def _storage_version(obj: Object) -> list[str]:
    """Return the name of the first version that is stored, or nothing."""
    versions = obj["spec"].get("versions") or ()
    return [version["name"] for version in versions if version.get("storage")][:1]
