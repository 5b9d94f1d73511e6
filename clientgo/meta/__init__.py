"""What an API object is.

::

    bytes ──► Codec ──► Foo (typed header, lazy body) ──► object_key ──► "namespace/name"

Plain data and functions over it: no threads, no network, no other package of ours. See also
:mod:`clientgo.meta.selectors`, :mod:`clientgo.meta.patches` and, for server-side apply,
:mod:`clientgo.testcluster.fields.managed_fields`.
"""

from clientgo.meta.codec import (
    Codec,
    ObjectList,
    Undecodable,
    encode,
    encode_plain,
    to_model,
    to_plain,
)
from clientgo.meta.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    GatewayTimeoutError,
    GoneError,
    InternalServerError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    RequestTooLargeError,
    ServerTimeoutError,
    ServiceUnavailableError,
    StatusError,
    TooManyRequestsError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    error_from_status,
    is_conflict,
    is_expired,
    is_internal_error,
    is_too_large_resource_version,
    is_too_many_requests,
)
from clientgo.meta.group_version import (
    APIResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from clientgo.meta.list_options import ListOptions
from clientgo.meta.objects.accessor import (
    NoMetadataError,
    annotations_of,
    has_metadata,
    labels_of,
    metadata_of,
)
from clientgo.meta.objects.dropping import drop_managed_fields
from clientgo.meta.objects.foreign_models import KubernetesModel, is_model_class
from clientgo.meta.objects.misfits import misfits
from clientgo.meta.objects.object_meta import (
    ListMeta,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
)
from clientgo.meta.objects.object_name import ExplicitKey, ObjectName, object_key
from clientgo.meta.objects.overlay import overlay
from clientgo.meta.objects.partial_metadata import PartialObjectMetadata
from clientgo.meta.objects.quantity import Quantity
from clientgo.meta.objects.resource import (
    Model,
    ObjectDecodeError,
    Resource,
    deep_copy,
    resource,
    resource_of,
)
from clientgo.meta.objects.same_json import is_same_json
from clientgo.meta.objects.unstructured import Unstructured
from clientgo.meta.owner_references import (
    get_controller_of,
    is_controlled_by,
    new_controller_ref,
)
from clientgo.meta.resource_version import compare_resource_versions, parse_resource_version
from clientgo.meta.scheme import Scheme
from clientgo.meta.selectors import (
    FieldRequirement,
    FieldSelector,
    Operator,
    Requirement,
    Selector,
    SelectorError,
    ShardSelector,
    everything,
    field_equals,
    field_selector_from_fields,
    nothing,
    parse_field_selector,
    parse_label_selector,
    parse_shard_selector,
    selector_from_labels,
    selector_from_object,
    shard_range,
)
from clientgo.meta.status import Status, StatusCause, StatusDetails
from clientgo.meta.watch_event import INITIAL_EVENTS_END, EventType, WatchEvent
from clientgo.meta.wire.answers import DecodeError, is_table

__all__ = [
    # objects
    "Model",
    "Resource",
    "resource",
    "resource_of",
    "misfits",
    "Unstructured",
    "PartialObjectMetadata",
    "ObjectMeta",
    "OwnerReference",
    "ManagedFieldsEntry",
    "ListMeta",
    "overlay",
    "deep_copy",
    "drop_managed_fields",
    "is_same_json",
    "Quantity",
    "metadata_of",
    "has_metadata",
    "labels_of",
    "annotations_of",
    "NoMetadataError",
    "ObjectDecodeError",
    # owners
    "get_controller_of",
    "is_controlled_by",
    "new_controller_ref",
    # names
    "ObjectName",
    "ExplicitKey",
    "object_key",
    "parse_resource_version",
    "compare_resource_versions",
    "APIResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "Scheme",
    # selectors
    "Selector",
    "Requirement",
    "Operator",
    "SelectorError",
    "parse_label_selector",
    "selector_from_labels",
    "selector_from_object",
    "everything",
    "nothing",
    "FieldSelector",
    "FieldRequirement",
    "parse_field_selector",
    "field_equals",
    "ShardSelector",
    "parse_shard_selector",
    "shard_range",
    "field_selector_from_fields",
    # the wire
    "ListOptions",
    "Codec",
    "ObjectList",
    "Undecodable",
    "DecodeError",
    "encode",
    "encode_plain",
    "to_plain",
    "to_model",
    "KubernetesModel",
    "is_model_class",
    "is_table",
    "WatchEvent",
    "EventType",
    "INITIAL_EVENTS_END",
    # answers
    "Status",
    "StatusDetails",
    "StatusCause",
    "StatusError",
    "error_from_status",
    "AlreadyExistsError",
    "BadRequestError",
    "ConflictError",
    "ExpiredError",
    "ForbiddenError",
    "GatewayTimeoutError",
    "GoneError",
    "InternalServerError",
    "InvalidError",
    "MethodNotAllowedError",
    "NotAcceptableError",
    "NotFoundError",
    "RequestTooLargeError",
    "ServerTimeoutError",
    "ServiceUnavailableError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnsupportedMediaTypeError",
    "is_conflict",
    "is_expired",
    "is_internal_error",
    "is_too_large_resource_version",
    "is_too_many_requests",
]
