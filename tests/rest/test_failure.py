"""An error of the server says what to do, where that is known."""

from __future__ import annotations

import json

import pytest

from clientgo.rest.requests.failure import answer_error

_GRANT = "grant the verb to this user, as with a Role and a RoleBinding"


@pytest.mark.parametrize(
    ("message", "is_missing_permission"),
    [
        ('pods is forbidden: User "bob" cannot list resource "pods" in API group ""', True),
        ('forbidden: User "system:anonymous" cannot get path "/metrics"', True),
        ('pods "a" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1', False),
        ('admission webhook "a.example.com" denied the request: no', False),
        ('pods "a" is forbidden: violates PodSecurity "restricted:latest"', False),
        (
            'serviceaccounts "a" is forbidden: unable to create new content in namespace b because '
            "it is being terminated",
            False,
        ),
    ],
)
def test_a_permission_is_asked_for_only_where_it_is_missing(
    message: str, is_missing_permission: bool
) -> None:
    """An admission plugin answers with 403 too, and no role helps against it."""
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}

    error = answer_error("POST", "https://a/api/v1/pods", 403, {}, json.dumps(status).encode())

    assert (_GRANT in str(error)) is is_missing_permission
