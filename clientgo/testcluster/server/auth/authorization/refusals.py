"""How a refusal is answered: 403, in the words of a real API server.

Upstream: apiserver ``endpoints/handlers/responsewriters/errors.go``.
"""

from __future__ import annotations

from typing import Final

from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.util.text.go_format import quote

_NO_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""What clients choose may not look like HTML, if a browser shows the message."""

_HEADERS: Final = (("x-content-type-options", "nosniff"),)


class RefusedError(FailedRequestError):
    """A 403 that would not be one, if the user might do what the attributes say."""

    attributes: Attributes


class EscalationError(RefusedError):
    """A 403: a user may not grant what it does not hold, as it lacks the verb of the attributes."""

    def __init__(self, refusal: FailedRequestError, attributes: Attributes) -> None:
        self.attributes = attributes
        super().__init__(refusal.code, refusal.reason, refusal.message, refusal.details)


class AccessDeniedError(RefusedError):
    """A 403: a user may not do what the attributes say."""

    def __init__(self, attributes: Attributes, reason: str = "") -> None:
        self.attributes = attributes
        subject = attributes.resource
        if subject and attributes.group:
            subject = f"{subject}.{attributes.group}"
        if subject and attributes.name:
            subject = f"{subject} {quote(attributes.name)}"
        message = f"{subject} is forbidden: " if subject else "forbidden: "
        message += _sentence(attributes).translate(_NO_HTML)
        if reason:
            message += f": {reason}"
        details = {
            "name": attributes.name,
            "group": attributes.group,
            "kind": attributes.resource,
        }
        shown = {key: value for key, value in details.items() if value}
        super().__init__(403, "Forbidden", message, shown, _HEADERS)


def _sentence(wanted: Attributes) -> str:
    user = f"User {quote(wanted.user.name)} cannot {wanted.verb}"
    if wanted.path:
        return f"{user} path {quote(wanted.path)}"
    resource = wanted.resource
    if wanted.subresource:
        resource = f"{resource}/{wanted.subresource}"
    what = f"{user} resource {quote(resource)} in API group {quote(wanted.group)}"
    if wanted.namespace:
        return f"{what} in the namespace {quote(wanted.namespace)}"
    return f"{what} at the cluster scope"
