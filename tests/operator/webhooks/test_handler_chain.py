"""Several handlers on one path."""

from __future__ import annotations

from typing import Any

from clientgo.meta import Status
from clientgo.operator.webhooks import (
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    Denied,
    default,
    mutate_raw,
    validate,
)
from tests.operator.webhooks.reviews import Foo, foo, review
from tests.operator.webhooks.serving import Asked


@default(Foo)
def first(obj: Foo, ctx: AdmissionContext) -> None:
    ctx.warn("from first")
    obj.spec.replicas = 1


@default(Foo)
def second(obj: Foo, ctx: AdmissionContext) -> None:
    obj.spec.image = f"image-for-{obj.spec.replicas}"


def test_a_mutating_handler_sees_what_those_before_it_made() -> None:
    """OP-WHK-10"""
    came = foo(unknown=True)

    verdict = Asked(first, second, path="/mutate").ask(review("CREATE", came))

    made = verdict.applied_to(came)
    assert made["spec"] == {"unknown": True, "replicas": 1, "image": "image-for-1"}
    assert verdict.warnings == ["from first"]


def test_the_chain_ends_with_the_first_that_refuses() -> None:
    """OP-WHK-10"""
    asked: list[str] = []

    def checking(name: str, refuses: bool) -> Any:
        @validate(Foo)
        def check(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> list[str]:
            asked.append(name)
            if refuses:
                raise Denied(f"{name} refuses")
            return [f"{name} warns"]

        return check

    handlers = [checking("a", False), checking("b", True), checking("c", False)]
    verdict = Asked(*handlers, path="/validate").ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.status.message, asked) == (False, "b refuses", ["a", "b"])


def test_a_chain_without_changes_has_no_patch() -> None:
    """OP-WHK-10"""
    verdict = Asked(first, second, path="/mutate").ask(
        review("CREATE", foo(replicas=1, image="image-for-1"))
    )

    assert (verdict.allowed, verdict.patch) == (True, [])


def test_a_raw_handler_that_refuses_ends_the_chain_too() -> None:
    """OP-WHK-10"""

    @mutate_raw(
        "/first",
        name="first.demo.example.com",
        groups=["demo.example.com"],
        versions=["v1"],
        resources=["foos"],
    )
    def refuse(request: AdmissionRequest) -> AdmissionResponse:
        return AdmissionResponse.deny(Status(code=418, message="no"), warnings=["careful"])

    verdict = Asked(refuse, first, path="/mutate").ask(review("CREATE", foo()))

    assert (verdict.allowed, verdict.code, verdict.warnings) == (False, 418, ["careful"])
    assert verdict.patch == []
