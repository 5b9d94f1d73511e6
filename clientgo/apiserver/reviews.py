"""Reviews: questions that are posted and answered, and never stored.

Promises the answers of a server without authorisation: everybody may do everything, and every
token is that of the one user.

Upstream: ``pkg/registry/authorization`` and ``pkg/registry/authentication``.
"""

from __future__ import annotations

from clientgo.apiserver.bodies import decode_object
from clientgo.apiserver.http import Answer, json_response
from clientgo.apiserver.options import write_options
from clientgo.apiserver.storage import Object
from clientgo.apiserver.user import USER
from clientgo.apiserver.verbs import Call, Verb
from clientgo.apiserver.writes import read_object

_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH = {"verbs": ["*"], "nonResourceURLs": ["*"]}

_STATUS: dict[tuple[str, str], Object] = {
    ("authentication.k8s.io", "selfsubjectreviews"): {"userInfo": USER},
    ("authentication.k8s.io", "tokenreviews"): {"authenticated": True, "user": USER},
    ("authorization.k8s.io", "localsubjectaccessreviews"): {"allowed": True},
    ("authorization.k8s.io", "selfsubjectaccessreviews"): {"allowed": True},
    ("authorization.k8s.io", "selfsubjectrulesreviews"): {
        "resourceRules": [_EVERYTHING],
        "nonResourceRules": [_EVERY_PATH],
        "incomplete": False,
    },
    ("authorization.k8s.io", "subjectaccessreviews"): {"allowed": True},
}


async def _review(call: Call) -> Answer:
    options = write_options(call.request, "CreateOptions")
    obj, duplicates = decode_object(call.request, call.resource.kind)
    review, _ = read_object(call.resource, obj, duplicates, options.field_validation)
    review["status"] = _STATUS[call.resource.group, call.resource.plural]
    return json_response(review, 201)


REVIEWS: dict[tuple[str, str], Verb] = dict.fromkeys(_STATUS, _review)
"""Handlers of the review resources, by group and plural."""
