"""What a real server answers with 500 too."""

from __future__ import annotations

import re

_REAL_SERVER_ERRORS = {
    "resourceVersion should not be set on objects to be created": "the storage refuses it",
    "strconv.ParseUint: parsing": "of a resourceVersion, unclassified",
    "Timeout: Too large resource version": "the server waits for the version, in vain",
    "Object 'apiVersion' is missing": "of a patched custom resource",
    "content is not a list": "of a Table of something else",
    "request to convert CR to an invalid group/version: autoscaling/v1": "apply to a scale",
    "conversion webhook for ": "it can't be reached, or answers what it should not",
    "request to convert CR from an invalid group/version": "an admission webhook has set that",
    "patch of webhook": "the patch can't be applied",
    "failed calling webhook": "the webhook of the request can't be reached",
    "target.name: Required value": "a binding's field errors are aggregated, not a Status",
    "target.kind: Unsupported value": "as above",
    "accessor error: .* is of the type": "of the scale of a custom resource",
    'the spec replicas field ".*" does not exist': "of the scale of a custom resource",
    "failed to allocate requested HealthCheck NodePort": "the allocation is an internal error",
    "etcdserver: request is too large|trying to send message larger than max": "of the storage",
    "^admission webhook .* denied the request": "the webhook chooses the code of its denial",
    # Server-side apply: an object that its type can't describe is an unclassified error.
    "failed to create typed (patch|live|new) object": "of a list of which a key field is missing",
    "failed to convert (old|new) object to": "as above, in the version of another manager",
    # Strategic merge patches: only what interpretStrategicMergePatchError knows is a 4xx.
    "does not contain declared merge key|has no merge key": "no merge key",
    "can't be merged without a merge key": "the type has no merge key",
    "unknown patch type|unknown \\$patch directive": "of a $patch directive",
    "an item can't ask to be merged": "as above",
    "is a list, not|list element types are not identical|list item .* is not an object": "types",
    "so it can't be merged": "of a field that the type lacks",
    "the order of .* is not that of": "of $setElementOrder",
}
"""Messages that a real server answers with 500 or 504 to a client's mistake, and why.

They are in recordings or in the source of a real server.
"""

REAL_SERVER_ERRORS = re.compile("|".join(_REAL_SERVER_ERRORS), re.DOTALL)
