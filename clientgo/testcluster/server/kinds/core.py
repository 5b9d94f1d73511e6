"""ConfigMaps, Secrets, namespaces, pods and pod templates.

Upstream: ``pkg/registry/core``, ``pkg/apis/core/validation`` and ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

import base64
import itertools
import re
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import (
    BuiltinStrategy,
    StatusStrategy,
    take,
)
from clientgo.testcluster.server.kinds.tables.formats import FORMATS
from clientgo.testcluster.server.resources.names import DNS_LABEL
from clientgo.testcluster.server.storage.deep_values import decode_any
from clientgo.testcluster.server.storage.storage import Object

_MAX_DATA = 1024 * 1024
"""Maximum bytes of all values of a ConfigMap or Secret."""


# -- ConfigMaps and Secrets


class _DataStrategy(BuiltinStrategy):
    """Maps of data that may be immutable."""

    data_fields: tuple[str, ...] = ()
    text_fields: tuple[str, ...] = ()
    """Fields whose values are not in base64."""

    too_long_at = "[]"
    """Field of the error if all values together are too long; by default the whole object."""

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of keys and of the total size."""
        errors = super().validate(obj)
        size = 0
        for field in self.data_fields:
            for key, value in obj.get(field, {}).items():
                size += _text_size(value) if field in self.text_fields else _decoded_size(value)
                errors += [
                    FieldError.invalid(f"{field}[{key}]", key, problem)
                    for problem in FORMATS["config-key"](key)
                ]
        if size > _MAX_DATA:
            errors.append(FieldError.too_long(self.too_long_at, _MAX_DATA))
        return errors

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return the changes of an immutable object."""
        if not old.get("immutable"):
            return []
        detail = "field is immutable when `immutable` is set"
        changed = [field for field in self.data_fields if new.get(field, {}) != old.get(field, {})]
        if not new.get("immutable"):
            changed.insert(0, "immutable")
        return [FieldError.forbidden(field, detail) for field in changed]


class ConfigMapStrategy(_DataStrategy):
    """ConfigMaps: text and binary data."""

    data_fields = ("data", "binaryData")
    text_fields = ("data",)

    def validate(self, obj: Object) -> list[FieldError]:
        """Return keys that are in both maps."""
        errors = super().validate(obj)
        binary = obj.get("binaryData", {})
        errors += [
            FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
            for key in obj.get("data", {})
            if key in binary
        ]
        return errors


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _decoded_size(text: str) -> int:
    """Return the number of bytes that a text in base64 has."""
    return len(text) * 3 // 4 - text[-2:].count("=")


_REQUIRED_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


_DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _docker_errors(kind: str, data: Object) -> list[FieldError]:
    """Return an error if the credentials of a registry are no JSON."""
    key = _DOCKER_KEYS.get(kind)
    if key not in data:
        return []
    try:
        credentials = decode_any(base64.b64decode(data[key]))
    except ValueError:
        credentials = ""
    if not isinstance(credentials, dict | None):
        hidden = "<secret contents redacted>"
        return [FieldError.invalid(f"data[{key}]", hidden, "must be a JSON object")]
    return []


class SecretStrategy(_DataStrategy):
    """Secrets: data in base64, and the write-only field ``stringData``."""

    data_fields = ("data",)
    too_long_at = "data"

    def default(self, obj: Object) -> None:
        """Set the type to Opaque; move ``stringData`` to ``data``."""
        if not obj.get("type"):
            obj["type"] = "Opaque"
        plain = obj.pop("stringData", None)
        if plain:
            encoded = {
                key: base64.b64encode(value.encode()).decode() for key, value in plain.items()
            }
            obj["data"] = {**obj.get("data", {}), **encoded}

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the missing keys of well-known types."""
        errors = super().validate(obj)
        data = obj.get("data", {})
        errors += [
            FieldError.required(f"data[{key}]")
            for key in _REQUIRED_SECRET_KEYS.get(obj["type"], ())
            if key not in data
        ]
        if obj["type"] == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
            errors.append(FieldError.required("data[ssh-privatekey]"))
        if obj["type"] == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
            errors += [FieldError.required(f"data[{key}]") for key in ("username", "password")]
        if obj["type"] == "kubernetes.io/service-account-token":
            account = "kubernetes.io/service-account.name"
            if not obj["metadata"].get("annotations", {}).get(account):
                errors.append(FieldError.required(f"metadata.annotations[{account}]"))
        errors += _docker_errors(obj["type"], data)
        return errors

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return a change of the type."""
        errors = super().validate_change(new, old)
        if new["type"] != old["type"]:
            errors.append(FieldError.invalid("type", new["type"], "field is immutable"))
        return errors

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of a certificate or key that can't be read."""
        if new["type"] != "kubernetes.io/tls":
            return []
        data = {key: base64.b64decode(value) for key, value in new.get("data", {}).items()}
        problem = _certificate_problem(data.get("tls.crt", b"")) or _key_problem(
            data.get("tls.key", b"")
        )
        return [problem] if problem else []


_PEM_BEGIN = re.compile(rb"-----BEGIN ([^-\r\n]{0,64})-----\s")
_PEM_BLOCKS = 100
"""Maximum blocks of a text that are looked at."""


def _pem_types(text: bytes) -> list[str]:
    """Return the types of the blocks of a PEM text."""
    begins = itertools.islice(_PEM_BEGIN.finditer(text), _PEM_BLOCKS)
    return [
        match[1].decode("utf-8", "replace")
        for match in begins
        if text.find(b"-----END %s-----" % match[1], match.end()) >= 0
    ]


def _certificate_problem(text: bytes) -> str:
    """Return why a PEM text has no certificate, worded as Go's TLS library does; empty if it has.

    What is in the blocks is not looked at.
    """
    types = _pem_types(text)
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if "CERTIFICATE" in types:
        return ""
    if len(types) == 1 and types[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a "
            "private key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM '
        f"blocks of the following types: [{' '.join(types)}]"
    )


def _key_problem(text: bytes) -> str:
    """Return why a PEM text has no private key; empty if it has one."""
    types = _pem_types(text)
    if not types:
        return "tls: failed to find any PEM data in key input"
    if any(name == "PRIVATE KEY" or name.endswith(" PRIVATE KEY") for name in types):
        return ""
    if types == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
        f"skipping PEM blocks of the following types: [{' '.join(types)}]"
    )


# -- service accounts


_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(BuiltinStrategy):
    """Service accounts."""

    def prepare_for_create(self, obj: Object) -> None:
        """Keep only the names of secrets."""
        if secrets := obj.get("secrets"):
            obj["secrets"] = [
                {"name": item["name"]} if item.get("name") else {} for item in secrets
            ]

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep only the names of secrets."""
        self.prepare_for_create(new)

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of a deprecated annotation that is new."""
        before = (old or {}).get("metadata", {}).get("annotations", {})
        if _MOUNTABLE in before or _MOUNTABLE not in new["metadata"].get("annotations", {}):
            return []
        return [
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces "
            "to isolate access to mounted secrets"
        ]


# -- namespaces


class NamespaceStrategy(StatusStrategy):
    """Namespaces: their finalizers stay until they are empty."""

    name_rule = DNS_LABEL

    def default(self, obj: Object) -> None:
        """Add the name label, before the owners of fields are found; a generated name comes later.

        So a write that leaves the label out does not take it from its owner.
        """
        _label_with_name(obj["metadata"])

    def prepare_for_create(self, obj: Object) -> None:
        """Add the name label and the finalizer ``kubernetes``."""
        super().prepare_for_create(obj)
        _label_with_name(obj["metadata"])
        finalizers = obj["spec"].get("finalizers", [])
        if "kubernetes" not in finalizers:
            obj["spec"]["finalizers"] = [*finalizers, "kubernetes"]

    def initial_status(self, obj: Object) -> Object:
        """Return the phase Active."""
        return {"phase": "Active"}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the spec; only the finalize subresource changes it."""
        super().prepare_for_update(new, old)
        _label_with_name(new["metadata"])
        take(new, old, "spec")

    def prepare_for_subresource(self, subresource: str, new: Object, old: Object) -> None:
        """Keep everything except ``spec.finalizers``, in a write to finalize."""
        finalizers = new.get("spec", {}).get("finalizers")
        for key in (new.keys() | old.keys()) - {"metadata"}:
            take(new, old, key)
        new["spec"] = {**old.get("spec", {})}
        new["spec"].pop("finalizers", None)
        if finalizers:
            new["spec"]["finalizers"] = finalizers

    def validate_subresource_update(
        self, subresource: str, new: Object, old: Object
    ) -> list[FieldError]:
        """Return names that are no finalizers; a write to finalize tells which, a creation not."""
        return [
            FieldError.invalid(f"spec.finalizers[{index}]", name, problem)
            for index, name in enumerate(new["spec"].get("finalizers", ()))
            for problem in FORMATS["finalizer"](name)
        ]

    def may_go(self, obj: Object) -> bool:
        """Return True if ``spec.finalizers`` is empty."""
        return not obj.get("spec", {}).get("finalizers")

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep the spec; a namespace's labels change with its status too."""
        take(new, old, "spec")
        _label_with_name(new["metadata"])

    def mark_deleted(self, obj: Object) -> None:
        """Set the phase to Terminating; namespaces have no grace period."""
        obj["metadata"].pop("deletionGracePeriodSeconds", None)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}


def _label_with_name(metadata: dict[str, Any]) -> None:
    """Set the label that selectors of webhooks and policies use."""
    if name := metadata.get("name"):
        metadata["labels"] = {
            **metadata.get("labels", {}),
            "kubernetes.io/metadata.name": name,
        }
