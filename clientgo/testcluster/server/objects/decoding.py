"""An object that a client sent, read as its kind demands."""

from __future__ import annotations

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
    unknown_metadata = read_metadata(obj)
    ordered = {
        "apiVersion": obj.get("apiVersion") or resource.api_version,
        "kind": obj.get("kind") or resource.kind,
        "metadata": obj["metadata"],
    } | {key: value for key, value in obj.items() if key not in _HEADER}
    strategy = resource.strategy
    decode = strategy.decode_applied if applied else strategy.decode
    decoded = decode(resource, ordered)
    if validation is FieldValidation.IGNORE:
        return decoded.obj, []
    problems = list(duplicates)
    unknown = sorted((*unknown_metadata, *decoded.unknown_fields))
    problems += [f'unknown field "{path}"' for path in unknown]
    if problems and validation is FieldValidation.STRICT:
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(problems)}"
        )
    return decoded.obj, problems
