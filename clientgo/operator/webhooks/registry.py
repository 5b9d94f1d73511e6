"""The webhooks of one program: what is served on which path.

Promises: a path that is used twice, handlers of one path that differ in what they are registered
for, and versions that cannot be converted are refused when they are registered or at the start.

Upstream: controller-runtime ``webhook.Server`` Register, ``builder.WebhookBuilder``.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from clientgo.meta import Resource, resource_of
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks.admission_endpoint import AdmissionEndpoint
from clientgo.operator.webhooks.admission_review import Operation
from clientgo.operator.webhooks.conversion_endpoint import CONVERSION_PATH, ConversionEndpoint
from clientgo.operator.webhooks.conversions import KindConversions, declared_conversion
from clientgo.operator.webhooks.declarations import (
    AdmissionWebhook,
    instance_of,
    webhooks_of,
)
from clientgo.operator.webhooks.endpoint import (
    CONVERSION_WEBHOOK_PANICS,
    WEBHOOK_PANICS,
    CallLimiter,
)
from clientgo.operator.webhooks.handlers import HandlerChain
from clientgo.operator.webhooks.manifest import WebhookManifest
from clientgo.serving import Handler


class Webhooks:
    """A collection of declared webhooks and converters. Not thread-safe: fill it, then serve it.

    ::

        webhooks = Webhooks()
        webhooks.register(fill_in, check, FooV1alpha1Converter)
        server = WebhookServer(WebhookOptions(), webhooks)
    """

    def __init__(self) -> None:
        self._by_path: dict[str, AdmissionWebhook] = {}
        self._converters: list[Any] = []
        self._versions: list[type[Resource]] = []

    def register(self, *handlers: Any, path: str | None = None) -> None:
        """Add the webhooks that functions, methods, objects or classes declare.

        With ``path`` all of them answer there, in this order. Raises ``DeclarationError`` for a
        path that is in use, or a handler that declares nothing.
        """
        found: list[AdmissionWebhook] = []
        for handler in handlers:
            if declared_conversion(handler) is not None:
                self._converters.append(instance_of(handler))
                continue
            declared = webhooks_of(handler)
            if not declared:
                raise DeclarationError(
                    f"{handler!r} declares no webhook; decorate a function or method with "
                    "@default, @validate or @mutate_raw, or a class with @conversion"
                )
            found += declared
        if path is not None and found:
            self._add(_chain(path, found))
        else:
            for webhook in found:
                self._add(webhook)

    def convertible(self, *versions: type[Resource]) -> None:
        """Require that all these versions can be converted; :meth:`endpoints` checks it."""
        self._versions += versions

    def is_empty(self) -> bool:
        """Return True if nothing was registered."""
        return not (self._by_path or self._converters or self._versions)

    @property
    def manifests(self) -> tuple[WebhookManifest, ...]:
        """The registrations of the admission webhooks, sorted by path."""
        return tuple(self._by_path[path].manifest for path in sorted(self._by_path))

    def conversions(self) -> list[KindConversions]:
        """Return the conversions, one for each kind. Raises ``DeclarationError``."""
        converters: dict[tuple[str, str], list[Any]] = defaultdict(list)
        versions: dict[tuple[str, str], list[type[Resource]]] = defaultdict(list)
        for converter in self._converters:
            declared = declared_conversion(converter)
            if declared is not None:
                converters[_group_kind(declared.hub)].append(converter)
        for version in self._versions:
            versions[_group_kind(version)].append(version)
        return [
            KindConversions(converters[kind], versions[kind])
            for kind in sorted(converters.keys() | versions.keys())
        ]

    def endpoints(
        self, calls: CallLimiter, metrics: MetricsProvider = NO_METRICS
    ) -> dict[str, Handler]:
        """Return the handlers by path. Raises ``DeclarationError``."""
        bugs = metrics.counter(WEBHOOK_PANICS)
        conversion_bugs = metrics.counter(CONVERSION_WEBHOOK_PANICS)
        endpoints: dict[str, Handler] = {
            path: AdmissionEndpoint(
                path=path,
                handler=webhook.handler,
                calls=calls,
                bugs=bugs,
                timeout=webhook.manifest.timeout_seconds,
            )
            for path, webhook in self._by_path.items()
        }
        if conversions := self.conversions():
            if CONVERSION_PATH in endpoints:
                raise DeclarationError(f"{CONVERSION_PATH} is the path of conversions")
            endpoints[CONVERSION_PATH] = ConversionEndpoint(
                conversions, calls=calls, bugs=conversion_bugs
            )
        return endpoints

    def _add(self, webhook: AdmissionWebhook) -> None:
        path = webhook.manifest.path
        if path in self._by_path:
            raise DeclarationError(
                f"webhooks {self._by_path[path].manifest.name!r} and "
                f"{webhook.manifest.name!r} are both at {path!r}; give one another path, or "
                "register them together with register(..., path=...)"
            )
        self._by_path[path] = webhook


def _chain(path: str, webhooks: Sequence[AdmissionWebhook]) -> AdmissionWebhook:
    """Return several webhooks as one, registered for the operations of all."""
    first = webhooks[0].manifest
    for other in webhooks[1:]:
        for name in ("mutating", "groups", "versions", "resources"):
            ours, theirs = getattr(first, name), getattr(other.manifest, name)
            if ours != theirs:
                raise DeclarationError(
                    f"webhooks {first.name!r} and {other.manifest.name!r} cannot share {path!r}: "
                    f"{name} of one is {ours}, of the other {theirs}"
                )
    wanted = {operation for webhook in webhooks for operation in webhook.manifest.operations}
    operations = tuple(operation for operation in Operation if operation in wanted)
    manifest = dataclasses.replace(first, path=path, operations=operations)
    return AdmissionWebhook(manifest, HandlerChain([webhook.handler for webhook in webhooks]))


def _group_kind(kind: type[Resource]) -> tuple[str, str]:
    resource = resource_of(kind)
    return resource.group, resource.kind
