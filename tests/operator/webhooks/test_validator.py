"""Validating webhooks: objects in, a verdict out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from clientgo.meta import NotFoundError
from clientgo.operator.webhooks import AdmissionContext, Denied, FieldErrors, path, validate
from clientgo.operator.webhooks.admission_review import Operation
from tests.operator.webhooks.reviews import Foo, foo, review
from tests.operator.webhooks.serving import Asked

ALL = list(Operation)


def validator(answer: Callable[[], Any], on: Sequence[Operation] = ALL) -> Any:
    @validate(Foo, on=on)
    def check(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> Any:
        return answer()

    return check


def test_on_create_there_is_the_object_alone_on_update_both_on_delete_the_old_one() -> None:
    """OP-WHK-05"""
    seen: list[tuple[str, int | None, int | None]] = []

    @validate(Foo, on=ALL)
    def remember(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        seen.append((ctx.operation, obj.spec.replicas, old.spec.replicas if old else None))

    asked = Asked(remember)
    asked.ask(review("CREATE", foo(replicas=1)))
    asked.ask(review("UPDATE", foo(replicas=2), foo(replicas=1)))
    asked.ask(review("DELETE", None, foo(replicas=2)))

    assert seen == [("CREATE", 1, None), ("UPDATE", 2, 1), ("DELETE", 2, None)]


def test_connect_is_allowed_and_so_is_what_it_is_not_declared_for() -> None:
    """OP-WHK-05"""

    def refuse() -> None:
        raise Denied("never")

    assert Asked(validator(refuse)).ask(review("CONNECT", {"kind": "PodExecOptions"})).allowed
    only_create = Asked(validator(refuse, on=[Operation.CREATE]))
    assert only_create.ask(review("UPDATE", foo(), foo())).allowed
    assert only_create.ask(review("DELETE", None, foo())).allowed
    assert not only_create.ask(review("CREATE", foo())).allowed


def test_returned_warnings_and_those_of_the_context_reach_the_user() -> None:
    """OP-WHK-05"""

    @validate(Foo)
    def warn(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> list[str]:
        ctx.warn("first")
        return ["second"]

    verdict = Asked(warn).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.warnings) == (True, ["first", "second"])


def test_warnings_are_shown_with_a_refusal_too() -> None:
    """OP-WHK-05"""

    @validate(Foo)
    def warn(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        ctx.warn("because")
        raise Denied("no")

    verdict = Asked(warn).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.warnings) == (False, ["because"])


@pytest.mark.parametrize(
    ("code", "reason"), [(403, "Forbidden"), (409, "Conflict"), (422, "Invalid"), (418, "")]
)
def test_denied_gives_its_code_and_the_reason_that_belongs_to_it(code: int, reason: str) -> None:
    """OP-WHK-07"""

    def deny() -> None:
        raise Denied("no", code=code)

    status = Asked(validator(deny)).ask(review("CREATE", foo())).status

    assert (status.code, status.reason, status.message) == (code, reason, "no")
    assert status.status == "Failure"


def test_denied_is_a_403_unless_it_says_otherwise() -> None:
    """OP-WHK-07"""

    def deny() -> None:
        raise Denied("no")

    assert Asked(validator(deny)).ask(review("CREATE", foo())).code == 403


def errors() -> FieldErrors:
    found = FieldErrors()
    found.invalid(path("spec", "replicas"), 70000, "at most 100")
    found.required(path("spec", "image"))
    return found


@pytest.mark.parametrize("raising", [True, False])
def test_field_errors_are_an_invalid_status_with_all_causes(raising: bool) -> None:
    """OP-WHK-05, OP-WHK-07, CRON-42"""

    def answer() -> FieldErrors:
        if raising:
            errors().raise_if_any()
        return errors()

    status = Asked(validator(answer)).ask(review("CREATE", foo())).status

    assert (status.code, status.reason) == (422, "Invalid")
    assert status.message == (
        'Foo.demo.example.com "a" is invalid: '
        "[spec.replicas: Invalid value: 70000: at most 100, spec.image: Required value]"
    )
    assert (status.details.group, status.details.kind) == ("demo.example.com", "Foo")
    assert [(cause.field_, cause.reason) for cause in status.details.causes] == [
        ("spec.replicas", "FieldValueInvalid"),
        ("spec.image", "FieldValueRequired"),
    ]


def test_empty_field_errors_mean_that_nothing_is_wrong() -> None:
    """OP-WHK-05"""
    assert Asked(validator(FieldErrors)).ask(review("CREATE", foo())).allowed


def test_an_error_of_the_api_is_passed_on_word_for_word() -> None:
    """OP-WHK-07"""
    error = NotFoundError.of("no such image", name="x", kind="images")

    def fail() -> None:
        raise error

    assert Asked(validator(fail)).ask(review("CREATE", foo())).status == error.status


@pytest.mark.parametrize("nonsense", ["a text", [1], 7])
def test_a_validator_that_returns_something_else_is_reported_as_a_bug(nonsense: Any) -> None:
    """OP-WHK-07"""
    verdict = Asked(validator(lambda: nonsense)).ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.code) == (False, 500)


def test_the_context_describes_the_request() -> None:
    """OP-WHK-11"""
    seen: list[Any] = []

    @validate(Foo, resources=["foos/status"])
    def look(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        seen.append(
            (
                ctx.user.username,
                ctx.user.groups,
                ctx.dry_run,
                ctx.operation,
                ctx.uid,
                ctx.subresource,
                ctx.options,
                ctx.namespace,
                ctx.name,
            )
        )

    options = {"kind": "UpdateOptions", "fieldManager": "kubectl"}
    Asked(look).ask(
        review("UPDATE", foo(), foo(), dryRun=True, subResource="status", options=options)
    )

    assert seen == [
        (
            "jane",
            ("devs",),
            True,
            Operation.UPDATE,
            "u-1",
            "status",
            options,
            "default",
            "a",
        )
    ]
