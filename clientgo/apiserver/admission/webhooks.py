"""Admission webhooks: what programs outside of the server say about a write.

Promises: mutating webhooks are asked one after the other, in the order of their configurations'
names, each seeing what the one before made; validating ones are asked at the same time. A failed
call counts as the registration says. As long as no webhook matches, nothing is awaited.

Does not promise cluster services as destinations: there is no cluster network.

Upstream: apiserver ``admission/plugin/webhook/{mutating,validating}``.
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from clientgo.apiserver.admission.admission import Review
from clientgo.apiserver.admission.webhook_client import WebhookCallError, WebhookClient
from clientgo.apiserver.admission.webhook_rules import Webhook, validate_webhooks
from clientgo.apiserver.auth.user import USER
from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import StatusError, internal_error
from clientgo.apiserver.storage.storage import Change, Collection, Object
from clientgo.meta.patches import PatchError, apply_json_patch
from clientgo.schema.field_errors import FieldError

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster

_GROUP = "admissionregistration.k8s.io"
_MUTATING = (_GROUP, "mutatingwebhookconfigurations")
_VALIDATING = (_GROUP, "validatingwebhookconfigurations")


class WebhookConfigurationStrategy(BuiltinStrategy):
    """The configurations that register webhooks."""

    counts_generations = True

    def default(self, obj: Object) -> None:
        """Calls must succeed within ten seconds, and see every object."""
        for webhook in obj.get("webhooks", ()):
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", 10)
            if self.kind == "MutatingWebhookConfiguration":
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules", ()):
                rule.setdefault("scope", "*")

    def spec_changed(self, new: Object, old: Object) -> bool:
        """The webhooks are the spec."""
        return new.get("webhooks") != old.get("webhooks")

    def validate(self, obj: Object) -> list[FieldError]:
        """The rules of registrations."""
        return validate_webhooks(obj)


class Webhooks:
    """The registered webhooks."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._client = WebhookClient()
        self._registered: dict[tuple[str, str], list[Webhook]] = {_MUTATING: [], _VALIDATING: []}
        cluster.storage.observe(self._observe)

    def close(self) -> None:
        """Ask nobody any more."""
        self._client.close()

    def _observe(self, collection: Collection, _: Change) -> None:
        key = (collection.group, collection.plural)
        if key in self._registered:
            self._registered[key] = [
                Webhook.parse(webhook)
                for stored in collection.scan()
                for webhook in stored.decode().get("webhooks", ())
            ]

    async def mutate(self, review: Review) -> None:
        """Let the mutating webhooks change ``review.obj``.

        Raises:
            StatusError: one denies the write, or a call fails that must not.
        """
        webhooks = self._registered[_MUTATING]
        if not webhooks or review.resource.group == _GROUP:
            return
        changed_by: set[int] = set()
        for index, webhook in enumerate(webhooks):
            if await self._mutate_once(webhook, review):
                changed_by.add(index)
        for index, webhook in enumerate(webhooks):
            # an earlier webhook may want to see what later ones made
            if webhook.reinvoked and any(other > index for other in changed_by):
                await self._mutate_once(webhook, review)

    async def _mutate_once(self, webhook: Webhook, review: Review) -> bool:
        response = await self._ask(webhook, review)
        patch = response.get("patch") if response else None
        if not patch or review.obj is None:
            return False
        before = review.obj
        review.obj = self._patched(webhook, before, patch)
        return review.obj != before

    def _patched(self, webhook: Webhook, obj: Object, patch: str) -> Object:
        try:
            steps = msgspec.json.decode(base64.b64decode(patch))
            patched = apply_json_patch(obj, steps)
        except (ValueError, PatchError) as error:
            raise internal_error(f'patch of webhook "{webhook.name}": {error}') from error
        if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
            raise internal_error(f'patch of webhook "{webhook.name}" leaves no object')
        return patched

    async def validate(self, review: Review) -> None:
        """Let the validating webhooks refuse the write.

        Raises:
            StatusError: one denies the write, or a call fails that must not.
        """
        webhooks = self._registered[_VALIDATING]
        if not webhooks or review.resource.group == _GROUP:
            return
        answers = await asyncio.gather(
            *(self._ask(webhook, review) for webhook in webhooks), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _ask(self, webhook: Webhook, review: Review) -> Object | None:
        """The response of a webhook that matches and allows the write; None if it is passed by."""
        versions = self._versions(review.resource)
        matched = webhook.matched_version(review, versions)
        if matched is None or not webhook.selects(review, self._namespace_labels(review)):
            return None
        request = _request_of(review, matched)
        try:
            if not webhook.meets_conditions(request):
                return None
            response = await self._client.ask(webhook.client_config, request, webhook.timeout)
        except WebhookCallError as error:
            message = f'failed calling webhook "{webhook.name}": {error}'
            if webhook.ignores_failure:
                self._cluster.log.warning("%s; its failure policy is to ignore that", message)
                return None
            raise internal_error(message) from error
        review.warnings += response.get("warnings") or ()
        if not response.get("allowed"):
            raise _denial(webhook, response.get("status") or {})
        return response

    def _versions(self, resource: Resource) -> list[Resource]:
        """Every version of a resource, its own first."""
        key = resource.collection_key
        others = [
            item
            for item in self._cluster.registry
            if item.collection_key == key and item is not resource
        ]
        return [resource, *others]

    def _namespace_labels(self, review: Review) -> dict[str, str] | None:
        """Labels of the namespace of a write; None for cluster-scoped objects, which have none."""
        if review.resource.collection_key == ("", "namespaces"):
            state = review.obj or review.old or {"metadata": {}}
            labels: dict[str, str] = state["metadata"].get("labels") or {}
            return labels
        return self._cluster.namespaces.labels(review.namespace) if review.namespace else None


def _request_of(review: Review, matched: Resource) -> Object:
    """The ``request`` of an AdmissionReview."""
    requested = review.resource
    request: dict[str, Any] = {
        "uid": str(uuid.uuid4()),
        "kind": _kind(matched),
        "resource": _resource(matched),
        "requestKind": _kind(requested),
        "requestResource": _resource(requested),
        "name": review.name,
        "operation": str(review.operation),
        "userInfo": USER,
        "object": _as_version(review.obj, matched),
        "oldObject": _as_version(review.old, matched),
        "dryRun": review.dry_run,
        "options": review.options or None,
    }
    if review.namespace:
        request["namespace"] = review.namespace
    if review.subresource:
        request["subResource"] = request["requestSubResource"] = review.subresource
    return request


def _kind(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _as_version(obj: Object | None, resource: Resource) -> Object | None:
    return None if obj is None else obj | {"apiVersion": resource.api_version}


_DENIED = 400
"""Code of a denial that names none."""


def _denial(webhook: Webhook, status: Object) -> StatusError:
    said = status.get("message") or status.get("reason")
    message = f'admission webhook "{webhook.name}" denied the request'
    message += f": {said}" if said else " without explanation"
    code = status.get("code") or _DENIED
    return StatusError(code, status.get("reason", ""), message, status.get("details") or {})
