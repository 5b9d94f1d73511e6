"""Conversion webhooks: the versions of a custom resource are converted by a program.

Promises: objects are sent in one ConversionReview and come back in their order; the metadata of an
object stays, except for its labels and annotations. What a conversion returns is pruned by the
schema of its version. A failed conversion is a 500 with the words of a real server. Nothing is
cached: each read converts again, so the answer of a webhook that has changed is seen.

Does not promise cluster services as destinations: there is no cluster network.

Upstream: apiextensions-apiserver ``pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clientgo.meta.decoding import convert
from clientgo.testcluster.schema import aggregate_message
from clientgo.testcluster.server.http.webhook_client import WebhookCallError, WebhookClient
from clientgo.testcluster.server.objects.metadata import label_causes
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.resources.errors import FailedRequestError, internal
from clientgo.testcluster.server.storage.storage import Object

TIMEOUT = 30.0
"""Seconds that a conversion may take, as upstream."""

REVIEW_VERSIONS = ("v1", "v1beta1")
"""Versions of ConversionReview; a webhook must accept one of them."""

_GROUP = "apiextensions.k8s.io"
_MAX_ANSWER = 256 * 1024 * 1024
"""Bytes of an answer, which holds all objects of a list."""

Prune = Callable[[Object], Object]
"""Reads an object by the schema of its apiVersion."""


class _Result(msgspec.Struct):
    status: str | None = None
    message: str | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    result: _Result | None = None
    converted_objects: list[Any] | None = None


class _Review(msgspec.Struct, rename="camel"):
    """A ConversionReview as a webhook answers it."""

    api_version: str | None = None
    kind: str | None = None
    response: _Response | None = None


class WebhookConverter:
    """Converts the objects of one definition by its webhook. On the event loop only."""

    def __init__(self, client: WebhookClient, crd: Object, prune: Prune) -> None:
        """Use the ``spec.conversion`` of a valid definition."""
        spec = crd["spec"]
        webhook = spec["conversion"]["webhook"]
        self._client = client
        self._prune = prune
        self._config: Mapping[str, Any] = webhook["clientConfig"]
        self._group, self._kind = spec["group"], spec["names"]["kind"]
        self._known = {f"{self._group}/{item['name']}" for item in spec["versions"]}
        storage = next(item["name"] for item in spec["versions"] if item["storage"])
        self.stored_version = f"{self._group}/{storage}"
        wanted = webhook["conversionReviewVersions"]
        self._review_version = next(item for item in wanted if item in REVIEW_VERSIONS)

    async def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Return the objects in a version, in their order.

        Raises:
            FailedRequestError: 500, the webhook can't be called, refuses, or answers with nonsense.
        """
        for obj in objects:
            if obj["apiVersion"] not in self._known:
                found = obj["apiVersion"]
                raise internal(f"request to convert CR from an invalid group/version: {found}")
        sent = [self._prune(obj) async for obj in in_turns(objects)]
        uid = str(uuid.uuid4())
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{_GROUP}/{self._review_version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": sent},
        }
        try:
            answer = await self._client.post(self._config, review, TIMEOUT, _MAX_ANSWER)
            converted = self._converted_in(answer, uid)
        except (WebhookCallError, _RefusedError) as error:
            raise self._failure(objects[0], f"failed: {error}") from error
        if len(converted) != len(sent):
            problem = f"returned {len(converted)} objects, expected {len(sent)}"
            raise self._failure(objects[0], problem)
        answers = enumerate(zip(sent, converted, strict=True))
        return [
            self._prune(self._accepted(before, after, api_version, index))
            async for index, (before, after) in in_turns(answers)
        ]

    def _converted_in(self, review: Object, uid: str) -> list[Any]:
        """Return the objects in an answer.

        Raises:
            _RefusedError: the answer is no answer to the review, or a failure.
        """
        try:
            answer = convert(review, _Review)
        except msgspec.ValidationError as error:
            raise _RefusedError(str(error)) from error
        response = answer.response
        if self._review_version == "v1":
            wanted = (f"{_GROUP}/v1", "ConversionReview")
            found = (answer.api_version or "", answer.kind or "")
            if found != wanted:
                shown = ", Kind=".join(wanted), ", Kind=".join(found)
                raise _RefusedError(f"expected webhook response of {shown[0]}, got {shown[1]}")
        if response is None:
            raise _RefusedError("no response provided")
        if self._review_version == "v1" and response.uid != uid:
            raise _RefusedError(f'expected response.uid="{uid}", got "{response.uid or ""}"')
        result = response.result or _Result()
        if result.status != "Success":
            default = f"response.result.status was '{result.status or ''}', not 'Success'"
            raise _RefusedError(result.message or default)
        return response.converted_objects or []

    def _accepted(self, before: Object, after: Any, api_version: str, index: int) -> Object:
        """Return a converted object with the metadata that it had.

        Raises:
            FailedRequestError: 500, it is another object, or not of the version.
        """
        where = f"returned invalid converted object at index {index}"
        if not isinstance(after, dict):
            raise self._failure(before, f"{where}: it is no object")
        if after.get("apiVersion") != api_version:
            found = after.get("apiVersion", "")
            problem = f"invalid groupVersion (expected {api_version}, received {found})"
            raise self._failure(before, f"{where}: {problem}")
        if after.get("kind") != before["kind"]:
            problem = f"invalid kind (expected {before['kind']}, received {after.get('kind', '')})"
            raise self._failure(before, f"{where}: {problem}")
        try:
            metadata = _restored_metadata(before["metadata"], after.get("metadata"))
        except _RefusedError as error:
            raise self._failure(before, f"{where}: {error}") from error
        except _MetadataError as error:
            problem = f"returned invalid metadata in object at index {index}: {error}"
            raise self._failure(before, problem) from error
        header = {"apiVersion": api_version, "kind": before["kind"], "metadata": metadata}
        return header | {name: value for name, value in after.items() if name not in header}

    def _failure(self, obj: Object, problem: str) -> FailedRequestError:
        kind = f"{obj['apiVersion']}, Kind={self._kind}"
        return internal(f"conversion webhook for {kind} {problem}")


class _RefusedError(Exception):
    """The webhook refuses, or its answer is not one to the review."""


class _MetadataError(Exception):
    """A converted object has labels or annotations that are not allowed."""


def _restored_metadata(before: Object, after: Any) -> Object:
    """Return the metadata from before the conversion, with the labels and annotations of after.

    Raises:
        _RefusedError: it is another object.
        _MetadataError: labels or annotations are malformed.
    """
    found = after if isinstance(after, dict) else {}
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        old, new = before.get(name, ""), found.get(name, "")
        if old != new:
            raise _RefusedError(f"must have the same {shown}: {old} != {new}")
    if not isinstance(after, dict):
        raise _MetadataError("missing metadata in converted object")
    metadata = dict(before)
    for field in ("labels", "annotations"):
        values = after.get(field)
        metadata.pop(field, None)
        if values is None:
            continue
        texts = isinstance(values, dict) and all(isinstance(v, str) for v in values.values())
        if not texts:
            raise _MetadataError(f"metadata.{field} must be a map of strings")
        if values != before.get(field) and (causes := label_causes({field: values})):
            raise _MetadataError(aggregate_message(causes))
        metadata[field] = values
    return metadata
