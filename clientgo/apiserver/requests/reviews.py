"""Reviews: objects that are posted, answered, and never stored.

Promises the answers of a server without authorization: every client may do everything, and every
token is that of the one user.

Upstream: ``pkg/registry/authorization`` and ``pkg/registry/authentication``.
"""

from __future__ import annotations

from clientgo.apiserver.auth.users import ADMIN
from clientgo.apiserver.http.bodies import decode_object
from clientgo.apiserver.http.messages import AnyResponse, json_response
from clientgo.apiserver.objects.decoding import read_object
from clientgo.apiserver.requests.options import write_options
from clientgo.apiserver.requests.subresources import create_binding
from clientgo.apiserver.requests.verbs import Verb, VerbCall
from clientgo.apiserver.storage.storage import Object

_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH = {"verbs": ["*"], "nonResourceURLs": ["*"]}

_STATUS: dict[tuple[str, str], Object] = {
    ("authentication.k8s.io", "selfsubjectreviews"): {"userInfo": ADMIN.info()},
    ("authentication.k8s.io", "tokenreviews"): {"authenticated": True, "user": ADMIN.info()},
    ("authorization.k8s.io", "localsubjectaccessreviews"): {"allowed": True},
    ("authorization.k8s.io", "selfsubjectaccessreviews"): {"allowed": True},
    ("authorization.k8s.io", "selfsubjectrulesreviews"): {
        "resourceRules": [_EVERYTHING],
        "nonResourceRules": [_EVERY_PATH],
        "incomplete": False,
    },
    ("authorization.k8s.io", "subjectaccessreviews"): {"allowed": True},
}


async def _review(call: VerbCall) -> AnyResponse:
    options = write_options(call.request, "CreateOptions")
    obj, duplicates = decode_object(call.request, call.resource.kind)
    review, _ = read_object(call.resource, obj, options.field_validation, duplicates)
    review["status"] = _STATUS[call.resource.group, call.resource.plural]
    return json_response(review, 201)


ANSWERED: dict[tuple[str, str], Verb] = {
    **dict.fromkeys(_STATUS, _review),
    ("", "bindings"): create_binding,
}
"""Handlers of the resources that are never stored, by group and plural."""
