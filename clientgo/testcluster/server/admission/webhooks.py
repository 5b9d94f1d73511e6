"""Admission webhooks: programs outside of the server that decide on a write.

Promises: mutating webhooks are called one after the other, in the order of their configurations'
names, each with the result of the one before; validating ones are called at the same time. A failed
call has the effect that its failurePolicy says. If no webhook matches, nothing is awaited.

Does not promise cluster services as destinations: there is no cluster network.

Upstream: apiserver ``admission/plugin/webhook/{mutating,validating}``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from clientgo.meta.json_values import copy_json, json_equal
from clientgo.meta.patches import PatchError, apply_json_patch
from clientgo.testcluster.server.admission.expression_errors import ExpressionError
from clientgo.testcluster.server.admission.reviews import namespace_labels, request_of
from clientgo.testcluster.server.admission.webhook_responses import AdmissionResponse, read_response
from clientgo.testcluster.server.admission.webhook_rules import Webhook
from clientgo.testcluster.server.http.webhook_client import WebhookCallError, WebhookClient
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.objects.decoding import read_object
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    forbidden,
    internal_error,
)
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import fold, unfold
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, Storage

LOG = logging.getLogger("clientgo.testcluster.server")

_GROUP = "admissionregistration.k8s.io"
_MUTATING = (_GROUP, "mutatingwebhookconfigurations")
_VALIDATING = (_GROUP, "validatingwebhookconfigurations")
_MAX_ANSWER = 3 * 1024 * 1024
"""Bytes of an answer."""


class Webhooks:
    """The registered webhooks."""

    def __init__(
        self,
        storage: Storage,
        registry: ResourceRegistry,
        namespace_labels: Callable[[str], dict[str, str]],
    ) -> None:
        """Follow the webhook configurations in ``storage``."""
        self._registry = registry
        self._labels_of = namespace_labels
        self._client = WebhookClient("apiserver-webhook")
        self._registered: dict[tuple[str, str], list[Webhook]] = {_MUTATING: [], _VALIDATING: []}
        storage.observe(self._observe, *self._registered)

    def close(self) -> None:
        """End the threads that call webhooks."""
        self._client.close()

    def _observe(self, collection: Collection, _: Change) -> None:
        self._registered[collection.key] = [
            Webhook.parse(webhook)
            for stored in collection.scan()
            for webhook in stored.decode().get("webhooks", ())
        ]

    async def mutate(self, review: Review) -> None:
        """Let the mutating webhooks change ``review.obj``.

        Raises:
            FailedRequestError: one denies the write, or a call fails and failurePolicy is Fail.
        """
        webhooks = self._registered[_MUTATING]
        if not webhooks or review.resource.group == _GROUP:
            return
        changed_by: set[int] = set()
        for index, webhook in enumerate(webhooks):
            if await self._mutate_once(webhook, review):
                changed_by.add(index)
        for index, webhook in enumerate(webhooks):
            # an earlier webhook is called again if a later one changed the object
            if webhook.reinvoked and any(other > index for other in changed_by):
                await self._mutate_once(webhook, review)

    async def _mutate_once(self, webhook: Webhook, review: Review) -> bool:
        asked = await self._ask(webhook, review, mutating=True)
        if asked is None or not asked.response.patch or review.obj is None:
            return False
        before = review.obj
        seen = await asked.version.from_version(before)
        read = await review.work.run(_read_patched, webhook, asked, seen)
        review.obj = await review.resource.from_version(read)
        return not await review.work.run(json_equal, review.obj, before)

    async def validate(self, review: Review) -> None:
        """Let the validating webhooks refuse the write.

        Raises:
            FailedRequestError: one denies the write, or a call fails and failurePolicy is Fail.
        """
        webhooks = self._registered[_VALIDATING]
        if not webhooks or review.resource.group == _GROUP:
            return
        answers = await asyncio.gather(
            *(self._ask(webhook, review, mutating=False) for webhook in webhooks),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _ask(self, webhook: Webhook, review: Review, *, mutating: bool) -> _Asked | None:
        """Return the response of a webhook that allows the write; None if it does not match."""
        versions = self._registry.versions_of(review.resource)
        matched = webhook.matched_version(review, versions)
        if matched is None or not webhook.selects(
            review, namespace_labels(review, self._labels_of)
        ):
            return None
        request = request_of(review, matched) | {
            "object": None if review.obj is None else await matched.from_version(review.obj),
            "oldObject": None if review.old is None else await matched.from_version(review.old),
        }
        if not await self._meets_conditions(webhook, review, request):
            return None
        try:
            response = await self._call(webhook, request, mutating=mutating)
        except WebhookCallError as error:
            message = f'failed calling webhook "{webhook.name}": {error}'
            if webhook.ignores_failure:
                LOG.warning("%s; its failure policy is to ignore that", message)
                return None
            raise internal_error(message) from error
        review.warnings += response.warnings or ()
        if not response.allowed:
            raise response.denial(webhook.name)
        return _Asked(matched, response)

    async def _meets_conditions(self, webhook: Webhook, review: Review, request: Object) -> bool:
        """Return True if a webhook's conditions hold.

        Raises:
            FailedRequestError: 403, they can't be evaluated, and failurePolicy is Fail.
        """
        try:
            return await review.work.evaluate(webhook.meets_conditions, request)
        except ExpressionError as error:
            if webhook.ignores_failure:
                return False
            raise forbidden(review.resource, review.name, str(error)) from error

    async def _call(
        self, webhook: Webhook, request: Object, *, mutating: bool
    ) -> AdmissionResponse:
        """Return the response to a review's request.

        Raises:
            WebhookCallError: there is none.
        """
        review = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": request,
        }
        try:
            answer = await self._client.post(
                webhook.client_config, review, webhook.timeout, _MAX_ANSWER
            )
        except WebhookCallError as error:
            raise WebhookCallError(f"failed to call webhook: {error}") from error
        return read_response(answer, request["uid"], mutating=mutating)


class _Asked(msgspec.Struct, frozen=True):
    """The response of a webhook, and the version of the object that it was asked about."""

    version: Resource
    response: AdmissionResponse


def _read_patched(webhook: Webhook, asked: _Asked, obj: Object) -> Object:
    """Return an object with the patch of a webhook, as its kind reads it.

    Raises:
        FailedRequestError: 500, the patch can't be applied, or makes no object of the kind.
    """
    try:
        patched = apply_json_patch(unfold(copy_json(obj)), unfold(asked.response.operations()))
        fold(patched)
        if isinstance(patched, dict) and isinstance(patched.get("metadata"), dict):
            read, _ = read_object(asked.version, patched)
            return read
    except (ValueError, RecursionError, PatchError, FailedRequestError) as error:
        raise internal_error(f'patch of webhook "{webhook.name}": {error}') from error
    raise internal_error(f'patch of webhook "{webhook.name}" leaves no object')
