"""Refusals of the API as exceptions."""

from __future__ import annotations

import copy

import pytest

from clientgo.meta import (
    ConflictError,
    ExpiredError,
    GoneError,
    NotFoundError,
    Status,
    StatusCause,
    StatusDetails,
    StatusError,
    error_from_status,
    is_conflict,
    is_expired,
    is_too_large_resource_version,
    is_too_many_requests,
)


def test_an_answer_becomes_the_exception_of_its_reason() -> None:
    assert type(error_from_status(Status(reason="Expired", code=410))) is ExpiredError
    assert isinstance(error_from_status(Status(reason="Expired", code=410)), GoneError)
    assert type(error_from_status(Status(reason="AlreadyExists", code=409))) is not ConflictError


def test_a_bare_code_is_enough_where_a_proxy_gave_no_reason() -> None:
    assert type(error_from_status(Status(code=404))) is NotFoundError
    assert type(error_from_status(Status(code=409))) is ConflictError
    assert type(error_from_status(Status(code=418))) is StatusError


def test_the_exception_says_what_the_server_said_and_when_to_ask_again() -> None:
    details = StatusDetails(retry_after_seconds=3)
    error = error_from_status(Status(message="slow down", code=429, details=details))

    assert (str(error), error.code, error.retry_after) == ("slow down", 429, 3.0)


def test_an_error_made_here_looks_like_the_servers() -> None:
    error = NotFoundError.of("no such pod", name="p", kind="pods")

    assert (error.code, error.reason, error.status.details.name) == (404, "NotFound", "p")


@pytest.mark.parametrize(
    "status",
    [Status(reason="Expired"), Status(reason="Gone"), Status(code=410)],
    ids=["expired", "gone", "bare-410"],
)
def test_every_form_of_410_is_expired(status: Status) -> None:
    """RFL-12"""
    assert is_expired(error_from_status(status))


TOO_LARGE = "Too large resource version: 9, current: 3"


@pytest.mark.parametrize(
    "status",
    [
        Status(details=StatusDetails(causes=[StatusCause(reason="ResourceVersionTooLarge")])),
        Status(reason="Timeout", details=StatusDetails(causes=[StatusCause(message=TOO_LARGE)])),
        Status(reason="Timeout", message=TOO_LARGE),
    ],
    ids=["cause", "cause-message", "message"],
)
def test_a_server_that_went_back_in_time_is_recognised(status: Status) -> None:
    """RFL-14"""
    assert is_too_large_resource_version(error_from_status(status))


def test_other_errors_are_none_of_these() -> None:
    for predicate in (is_expired, is_conflict, is_too_many_requests, is_too_large_resource_version):
        assert not predicate(ValueError("x"))
        assert not predicate(error_from_status(Status(reason="AlreadyExists", code=409)))


def test_an_error_can_be_copied() -> None:
    error = NotFoundError.of("no such pod", name="p")

    assert (type(copy.copy(error)), str(copy.copy(error))) == (NotFoundError, "no such pod")
