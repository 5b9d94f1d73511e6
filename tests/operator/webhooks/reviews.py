"""Kinds, reviews of them and the answers, for tests of webhooks."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.meta import Model, Resource, Status, resource
from clientgo.meta.decoding import decode
from clientgo.meta.patches import apply_json_patch
from clientgo.operator.webhooks.admission_review import AdmissionRequest, AdmissionReview


class FooSpec(Model):
    replicas: int | None = None
    image: str | None = None


class FooStatus(Model):
    ready: int | None = None


@resource(group="demo.example.com", version="v1", plural="foos")
class Foo(Resource):
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()


def foo(name: str = "a", **spec: Any) -> dict[str, Any]:
    """A Foo as JSON values."""
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "Foo",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def review(
    operation: str = "CREATE",
    obj: dict[str, Any] | None = None,
    old: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The ``request`` of a review of a Foo."""
    request: dict[str, Any] = {
        "uid": "u-1",
        "kind": {"group": "demo.example.com", "version": "v1", "kind": "Foo"},
        "resource": {"group": "demo.example.com", "version": "v1", "resource": "foos"},
        "name": "a",
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "jane", "groups": ["devs"]},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
    }
    return request | more


def body(request: dict[str, Any] | None, api_version: str = "admission.k8s.io/v1") -> bytes:
    """A review as it is sent."""
    return msgspec.json.encode(
        {"apiVersion": api_version, "kind": "AdmissionReview", "request": request}
    )


def request_of(review: dict[str, Any]) -> AdmissionRequest:
    """A request as handlers get it."""
    request = decode(body(review), AdmissionReview).request
    assert request is not None
    return request


@dataclass
class Verdict:
    """What came back."""

    api_version: str
    response: dict[str, Any]

    @property
    def allowed(self) -> bool:
        allowed: bool = self.response["allowed"]
        return allowed

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def status(self) -> Status:
        return msgspec.convert(self.response["status"], Status)

    @property
    def patch(self) -> list[dict[str, Any]]:
        if "patch" not in self.response:
            return []
        assert self.response["patchType"] == "JSONPatch"
        patch: list[dict[str, Any]] = msgspec.json.decode(base64.b64decode(self.response["patch"]))
        return patch

    @property
    def warnings(self) -> list[str]:
        warnings: list[str] = self.response.get("warnings", [])
        return warnings

    def applied_to(self, obj: dict[str, Any]) -> Any:
        """The object that the API server goes on with."""
        return apply_json_patch(obj, self.patch)


def verdict_in(content: bytes) -> Verdict:
    """Read an answer."""
    answer = msgspec.json.decode(content)
    assert answer["kind"] == "AdmissionReview"
    return Verdict(answer["apiVersion"], answer["response"])
