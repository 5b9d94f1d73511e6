"""``metadata`` of a written object: reading, defaults of the server, validation.

Promises: metadata is read like upstream's typed ObjectMeta, for built-in and custom resources:
unknown fields are reported and dropped, empty fields left out, wrong types refused.

Upstream: ``metav1.ObjectMeta``, apiserver ``registry/rest`` ``BeforeCreate``/``BeforeUpdate`` and
apimachinery ``api/validation`` objectmeta.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clientgo.meta.decoding import convert
from clientgo.meta.json_values import without_nulls
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.meta.selectors import label_key_problems, label_value_problems
from clientgo.meta.timestamps import canonical_time
from clientgo.meta.validation.field_errors import OMITTED, FieldError
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request
from clientgo.testcluster.server.resources.names import (
    DNS_LABEL,
    PATH_SEGMENT,
    NameRule,
    name_causes,
)
from clientgo.testcluster.server.resources.strategy import MetadataChecks
from clientgo.testcluster.server.storage.storage import Object

_RANDOM_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no similar characters, so that generated names are not words."""

_RANDOM_LENGTH = 5
_MAX_GENERATED = 63 - _RANDOM_LENGTH

ANNOTATIONS_LIMIT = 256 * 1024
"""Maximum bytes of all annotation keys and values of an object."""

_VERSIONED = re.compile(r"([^/]*/)?[^/]+")
"""An apiVersion with a version: ``v1`` or ``group/v1``."""

_ORPHAN_FINALIZERS = ("orphan", "foregroundDeletion")


class _OwnerReference(msgspec.Struct, omit_defaults=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _ObjectMeta(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[_OwnerReference] = []
    finalizers: list[str] = []
    managed_fields: list[dict[str, Any]] = []


_KEPT = (msgspec.Raw,)
"""What is not converted: members of managed fields may be nested that deeply."""

_KNOWN = frozenset(_ObjectMeta.__struct_encode_fields__)
_KNOWN_OF_OWNERS = frozenset(_OwnerReference.__struct_encode_fields__)
_OBSOLETE = frozenset({"selfLink"})

STANDARD_FINALIZERS = (*_ORPHAN_FINALIZERS, "kubernetes")

_NO_OWNERS = frozenset({("v1", "Event")})
"""apiVersion and kind of objects that can't own others."""


def read_metadata(obj: Object, *, keeps_reset: bool = False) -> tuple[str, ...]:
    """Convert ``obj["metadata"]`` to its canonical form, in place; return the unknown fields.

    With ``keeps_reset`` an empty list of ``managedFields`` stays: it asks to forget the owners.

    Raises:
        FailedRequestError: 400, a field has the wrong type.
    """
    raw = obj.get("metadata")
    if raw is None:
        raw = {}
    elif not isinstance(raw, dict):
        raise bad_request("metadata of the object is not an object")
    unknown = [f"metadata.{key}" for key in raw if key not in _KNOWN and key not in _OBSOLETE]
    present = {key: _without_nulls(value) for key, value in raw.items() if value is not None}
    if isinstance(owners := present.get("ownerReferences"), list):
        present["ownerReferences"] = [
            without_nulls({} if item is None else item) for item in owners
        ]
    if isinstance(finalizers := present.get("finalizers"), list):
        present["finalizers"] = ["" if item is None else item for item in finalizers]
    try:
        typed = convert(present, _ObjectMeta)
    except msgspec.ValidationError as error:
        raise bad_request(f"metadata of the object can't be read: {error}") from error
    for time in (typed.creation_timestamp, typed.deletion_timestamp):
        _check_time(time)
    obj["metadata"] = msgspec.to_builtins(typed, builtin_types=_KEPT)
    if keeps_reset and present.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []
    for index, reference in enumerate(present.get("ownerReferences", ())):
        path = f"metadata.ownerReferences[{index}]"
        unknown += [f"{path}.{key}" for key in reference if key not in _KNOWN_OF_OWNERS]
    return tuple(unknown)


def _check_time(text: str) -> None:
    try:
        if text:
            canonical_time(text)
    except ValueError as error:
        raise bad_request(f"parsing time in metadata: {error}") from error


def _without_nulls(value: Any) -> Any:
    """Replace null labels, annotations and list items by the empty value of their type."""
    if isinstance(value, dict) and None in value.values():
        return {key: "" if item is None else item for key, item in value.items()}
    return value


def prepare_for_create(metadata: dict[str, Any], namespace: str, now: str) -> None:
    """Set namespace, generated name, uid and creation time of a new object."""
    for field in _OF_DELETION:
        metadata.pop(field, None)
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    if not metadata.get("name") and (prefix := metadata.get("generateName")):
        metadata["name"] = generate_name(prefix)
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = now


_uids = random.Random()
"""Has a seed of its own; the one of a program may begin again."""


def new_uid() -> str:
    """Return a random uid, in a third of the time of ``uuid.uuid4``."""
    digits = f"{_uids.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def generate_name(prefix: str) -> str:
    """Return a name that begins with ``prefix`` and ends with five random letters."""
    letters = "".join(random.choices(_RANDOM_LETTERS, k=_RANDOM_LENGTH))
    return prefix[:_MAX_GENERATED] + letters


_DELETED_AT = "deletionTimestamp"
_OF_DELETION = (_DELETED_AT, "deletionGracePeriodSeconds")
_SERVER_OWNED = ("creationTimestamp", "generation", "namespace")
_IMMUTABLE = ("name", "uid", *_OF_DELETION)


def prepare_for_update(new: dict[str, Any], old: Mapping[str, Any]) -> None:
    """Copy from ``old`` what an update can't change; another uid is an error, found later.

    So is a deletion that an update begins.
    """
    new.setdefault("uid", old["uid"])
    for field in _OF_DELETION:
        if field in old and (field == _DELETED_AT or field not in new):
            new[field] = old[field]
    for field in _SERVER_OWNED:
        if field in old:
            new[field] = old[field]
        else:
            new.pop(field, None)


def create_causes(
    metadata: Mapping[str, Any],
    rule: NameRule,
    *,
    namespaced: bool,
    qualified_finalizers: bool = False,
) -> list[FieldError]:
    """Return the errors of a new object's metadata."""
    causes: list[FieldError] = []
    if (generation := metadata.get("generation", 0)) < 0:
        detail = "must be greater than or equal to 0"
        causes.append(FieldError.invalid("metadata.generation", generation, detail))
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if prefix:
        causes += name_causes(prefix, rule, prefix=True)
    if name:
        causes += name_causes(name, rule)
    else:
        causes.append(FieldError.required("metadata.name", "name or generateName is required"))
    if namespaced and not (namespace := metadata.get("namespace", "")):
        causes.append(FieldError.required("metadata.namespace"))
    elif namespaced and DNS_LABEL.problems(namespace):
        causes.append(FieldError.invalid("metadata.namespace", namespace, DNS_LABEL.reason))
    finalizers = metadata.get("finalizers") or ()
    causes += _content_causes(metadata)
    if finalizers:
        causes += _finalizer_causes(finalizers)
        causes += _unqualified_finalizer_causes(finalizers) if qualified_finalizers else []
    return causes


def embedded_causes(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of an embedded resource's metadata, which needs no name."""
    holder: Object = {"metadata": metadata}
    try:
        read_metadata(holder)
    except FailedRequestError as error:
        return [FieldError.invalid("metadata", OMITTED, error.message)]
    read = {"name": "unnamed"} | holder["metadata"]
    return create_causes(read, PATH_SEGMENT, namespaced="namespace" in read)


def label_causes(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of labels and annotations alone."""
    return _content_causes({key: metadata.get(key) for key in ("labels", "annotations")})


def update_causes(
    new: Mapping[str, Any], old: Mapping[str, Any], checks: MetadataChecks, rule: NameRule
) -> list[FieldError]:
    """Return the errors of a change of metadata, each as often as a real API server finds it."""
    whole, changes = 1 + checks.whole, 1 + checks.changes
    causes = _content_causes(new) * (whole + changes)
    if prefix := new.get("generateName"):  # a client may write another one
        causes += name_causes(prefix, PATH_SEGMENT, prefix=True)
        causes += name_causes(prefix, rule, prefix=True) * checks.whole
    finalizers = new.get("finalizers") or ()
    causes += _finalizer_causes(finalizers) * whole
    if checks.qualified_finalizers:
        causes += _unqualified_finalizer_causes(finalizers) * (whole + changes - 2)
    for field in _IMMUTABLE:  # admission may have changed the name
        if (value := new.get(field)) != old.get(field):
            error = FieldError.invalid(f"metadata.{field}", value, "field is immutable")
            causes += [error] * changes
    if old.get(_DELETED_AT):
        before = set(old.get("finalizers") or ())
        if added := sorted({item for item in finalizers if item not in before}):
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers {added}"
            )
            causes += [FieldError.forbidden("metadata.finalizers", detail)] * changes
    return causes


def _content_causes(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors that each check of metadata finds, of a new object and of a change."""
    causes: list[FieldError] = []
    if (labels := metadata.get("labels")) and (key := value_key(labels)) not in _valid_labels:
        causes += _causes_of_labels(labels)
        if not causes:
            _valid_labels.remember(key)
    if annotations := metadata.get("annotations"):
        causes += _annotation_causes(annotations)
    if references := metadata.get("ownerReferences"):
        causes += _owner_causes(references)
    return causes


_valid_labels = RepeatedValues()
"""Those of pods of a template are equal."""


def _causes_of_labels(labels: Mapping[str, str]) -> list[FieldError]:
    return [
        FieldError.invalid("metadata.labels", text, problem)
        for key, value in labels.items()
        for text, problems in (
            (key, label_key_problems(key)),
            (value, label_value_problems(value)),
        )
        for problem in problems
    ]


def _annotation_causes(annotations: Mapping[str, str]) -> list[FieldError]:
    causes = []
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        causes += [
            FieldError.invalid("metadata.annotations", key, problem)
            for problem in label_key_problems(key.lower())
        ]
    if size > ANNOTATIONS_LIMIT:
        causes.append(FieldError.too_long("metadata.annotations", ANNOTATIONS_LIMIT))
    return causes


def _owner_causes(references: list[dict[str, Any]]) -> list[FieldError]:
    causes = []
    for reference in references:
        path = "metadata.ownerReferences"
        api_version = reference.get("apiVersion", "")
        if not _VERSIONED.fullmatch(api_version):
            detail = "version must not be empty"
            causes.append(FieldError.invalid(f"{path}.apiVersion", api_version, detail))
        causes += [
            FieldError.invalid(f"{path}.{field}", "", "must not be empty")
            for field in ("kind", "name", "uid")
            if not reference.get(field)
        ]
        if (api_version, reference.get("kind")) in _NO_OWNERS:
            detail = f"{reference.get('kind')} is disallowed from being an owner"
            causes.append(FieldError.invalid(path, reference, detail))
    controllers = [item for item in references if item.get("controller")]
    if len(controllers) > 1:
        named = " and ".join(f"{item.get('kind')}/{item.get('name')}" for item in controllers)
        detail = f"only one reference can have controller set to true, found {named}"
        causes.append(FieldError.invalid("metadata.ownerReferences", references, detail))
    return causes


def drop_duplicate_owners(metadata: dict[str, Any]) -> list[str]:
    """Remove owner references that occur twice, in place; return the uids of those removed."""
    kept: dict[tuple[tuple[str, Any], ...], dict[str, Any]] = {}
    duplicates = [
        reference.get("uid", "")
        for reference in metadata.get("ownerReferences", ())
        if kept.setdefault(tuple(sorted(reference.items())), reference) is not reference
    ]
    if duplicates:
        metadata["ownerReferences"] = list(kept.values())
    return duplicates


def _unqualified_finalizer_causes(finalizers: Sequence[str]) -> list[FieldError]:
    """Return the errors of finalizers that are neither qualified by a domain nor standard.

    Most built-in kinds refuse such finalizers; custom resources warn of them.
    """
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        FieldError.invalid(f"metadata.finalizers[{index}]", finalizer, detail)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def _finalizer_causes(finalizers: Sequence[str]) -> list[FieldError]:
    causes = []
    for finalizer in finalizers:
        problems = label_key_problems(finalizer)
        causes += [FieldError.invalid("metadata.finalizers", finalizer, item) for item in problems]
    if all(item in finalizers for item in _ORPHAN_FINALIZERS):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(FieldError.invalid("metadata.finalizers", finalizers, detail))
    return causes
