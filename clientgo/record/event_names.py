"""Names of Event objects: the object's name and the time, unique without a request."""

from __future__ import annotations

import re
import uuid

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_LENGTH = 253


def event_name(object_name: str, unix_nanoseconds: int) -> str:
    """Name an event about ``object_name``: ``web-0.178959f726d80ec``.

    Names of some objects (``system:node``, very long ones) cannot begin an event's name, which
    must be a DNS subdomain; such an event gets a UUID. Source: tools/record/util,
    GenerateEventName.
    """
    name = f"{object_name}.{unix_nanoseconds:x}"
    if len(name) <= _MAX_LENGTH and _SUBDOMAIN.fullmatch(name):
        return name
    return str(uuid.uuid4())
