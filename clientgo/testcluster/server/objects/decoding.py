"""An object that a client sent, read as its kind demands."""

from __future__ import annotations

from collections.abc import Iterable

from clientgo.testcluster.server.objects.metadata import read_metadata
from clientgo.testcluster.server.objects.options import FieldValidation
from clientgo.testcluster.server.resources.errors import bad_request
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

_HEADER = frozenset({"apiVersion", "kind", "metadata"})


def read_object(
    resource: Resource,
    obj: Object,
    validation: FieldValidation = FieldValidation.IGNORE,
    duplicates: tuple[str, ...] = (),
    *,
    applied: bool = False,
) -> tuple[Object, list[str]]:
    """Check the types of an object and drop the fields that its kind does not know.

    Returns the object with apiVersion, kind and metadata first, and warnings for the client.
    ``duplicates`` are the problems of fields that occurred twice in the body; ``applied`` says that
    server-side apply has merged the object.

    Raises:
        FailedRequestError: 400, a field has the wrong type, or validation is strict and one is
            unknown.
    """
    resource.strategy.check_type(resource, obj)
    unknown_metadata = read_metadata(obj, keeps_reset=not resource.is_custom)
    # Only built-in kinds may leave it out; a custom resource without it is refused later.
    api_version = obj.get("apiVersion") or ("" if resource.is_custom else resource.api_version)
    ordered = {
        "apiVersion": api_version,
        "kind": obj.get("kind") or resource.kind,
        "metadata": obj["metadata"],
    } | {key: value for key, value in obj.items() if key not in _HEADER}
    strategy = resource.strategy
    decode = strategy.decode_applied if applied else strategy.decode
    decoded = decode(resource, ordered)
    unknown = sorted((*unknown_metadata, *decoded.unknown_fields))
    return decoded.obj, field_warnings(resource, ordered, unknown, duplicates, validation)


def field_warnings(
    resource: Resource,
    obj: Object,
    unknown: Iterable[str],
    duplicates: tuple[str, ...],
    validation: FieldValidation,
) -> list[str]:
    """Return the warnings of an object's unknown and duplicate fields.

    Raises:
        FailedRequestError: 400, there are some and validation is strict.
    """
    if validation is FieldValidation.IGNORE:
        return []
    problems = [*duplicates, *(f'unknown field "{path}"' for path in unknown)]
    if problems and validation is FieldValidation.STRICT:
        version = obj["apiVersion"].rpartition("/")[2]
        raise bad_request(
            f'{obj["kind"]} in version "{version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(problems)}"
        )
    return problems
