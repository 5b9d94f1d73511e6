"""Field selectors for the events of an object.

The selector finds exactly the events about an object, in either API group. Fields that the
reference leaves empty are not selected by. Source: `tools/events` GetFieldSelector.
"""

from __future__ import annotations

from typing import Final

from clientgo.api.core_v1 import ObjectReference
from clientgo.meta import FieldSelector, field_selector_from_fields

_SUBJECT_FIELDS: Final = {
    "v1": "involvedObject",
    "events.k8s.io/v1": "regarding",
}
"""What events call their object, by their own API version."""


def events_about(reference: ObjectReference, api_version: str = "v1") -> FieldSelector:
    """Select the events of ``api_version`` that are about an object.

    Name, kind, version and uid are asked for as far as the reference has them. Which namespace to
    ask in is for the caller: that of the object, or ``default`` if it has none. Raises ValueError
    for a version that has no events.

    ::

        about = events_about(get_reference(foo))
        client.resource(Event).namespace("default").list(ListOptions(field_selector=str(about)))

    Source: k8s.io/client-go/tools/events, GetFieldSelector.
    """
    subject = _SUBJECT_FIELDS.get(api_version)
    if subject is None:
        raise ValueError(
            f"there are no events in {api_version!r}, only in {' and '.join(_SUBJECT_FIELDS)}"
        )
    terms = {
        "name": reference.name,
        "kind": reference.kind,
        "apiVersion": reference.api_version,
        "uid": reference.uid,
    }
    return field_selector_from_fields(
        {f"{subject}.{field}": value for field, value in terms.items() if value}
    )
