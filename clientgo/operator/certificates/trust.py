"""Writing the ``caBundle`` of an operator's webhooks, so that the API server trusts them.

Promises: nothing is written that is up to date; a configuration that does not exist is skipped, and
found the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clientgo.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client, ResourceClient
from clientgo.meta import NotFoundError, Resource
from clientgo.wait import retry_on_conflict

_log = logging.getLogger("clientgo.operator.certificates")


@dataclass(frozen=True, slots=True)
class Trusting:
    """The names of the objects whose ``caBundle`` an operator writes."""

    mutating: Sequence[str] = ()
    validating: Sequence[str] = ()
    crds: Sequence[str] = ()


def trust(client: Client, objects: Trusting, bundle: bytes, *, only_first: bool = False) -> None:
    """Write the PEM ``bundle`` into these objects; with ``only_first`` where there is none yet.

    Blocks; raises what a client raises.
    """
    named: list[tuple[type[Resource], Sequence[str]]] = [
        (MutatingWebhookConfiguration, objects.mutating),
        (ValidatingWebhookConfiguration, objects.validating),
        (CustomResourceDefinition, objects.crds),
    ]
    for kind, names in named:
        for name in names:
            _trust_one(client.resource(kind), name, bundle, only_first)


def _trust_one(resources: ResourceClient[Any], name: str, bundle: bytes, only_first: bool) -> None:
    def write() -> None:
        obj = resources.get(name)
        configs = [
            config
            for config in _client_configs(obj)
            if config.ca_bundle != bundle and not (only_first and config.ca_bundle)
        ]
        for config in configs:
            config.ca_bundle = bundle
        if configs:
            resources.update(obj)
            _log.info("%s %s trusts the webhooks of this operator", resources.resource.kind, name)

    try:
        retry_on_conflict(write)
    except NotFoundError:
        _log.debug("%s %s is not there yet", resources.resource.kind, name)


def _client_configs(obj: Any) -> list[Any]:
    """Return the parts of an object that say how to call a webhook."""
    if not isinstance(obj, CustomResourceDefinition):
        return [webhook.client_config for webhook in obj.webhooks or ()]
    conversion = obj.spec.conversion
    webhook = conversion.webhook if conversion is not None else None
    config = webhook.client_config if webhook is not None else None
    return [config] if config is not None else []
