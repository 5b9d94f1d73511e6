"""What a webhook's handler may know of the request besides its object.

Upstream: controller-runtime ``admission.RequestFromContext``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.operator.webhooks.admission_review import AdmissionRequest, UserInfo
from clientgo.operator.webhooks.operation import Operation


class AdmissionContext:
    """One request under review; belongs to the one call that it is given to.

    On ``dry_run`` nothing may be changed anywhere: the write that is under review will not be
    stored. ``options`` are those of the write (``CreateOptions`` ...) as plain JSON values.
    """

    __slots__ = ("_request", "operation", "warnings")

    def __init__(self, request: AdmissionRequest) -> None:
        self._request = request
        self.operation = Operation(request.operation)
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Show ``text`` to the user, whether the request is allowed or not.

        The API server cuts a warning after 256 characters where there are many.
        """
        self.warnings.append(text)

    @property
    def dry_run(self) -> bool:
        return bool(self._request.dry_run)

    @property
    def user(self) -> UserInfo:
        return self._request.user_info

    @property
    def uid(self) -> str:
        """The identity of this review, also found in the API server's log."""
        return self._request.uid

    @property
    def subresource(self) -> str:
        """The part of the object that is written, such as ``status``; empty for the object."""
        return self._request.sub_resource

    @property
    def namespace(self) -> str:
        return self._request.namespace

    @property
    def name(self) -> str:
        """The object's name; empty while it is being made up from ``generateName``."""
        return self._request.name

    @property
    def options(self) -> Mapping[str, Any]:
        return self._request.options or {}
