"""Whether the API server has the kinds that controllers are for.

Source: Java Operator SDK, ``checkCRDAndValidateLocalModel``.
"""

from __future__ import annotations

from collections.abc import Iterable

from clientgo.client import Client
from clientgo.meta import APIResource, GroupVersion, NotFoundError
from clientgo.operator.errors import ConfigError


def check_served(client: Client, resources: Iterable[APIResource]) -> None:
    """Raise :class:`~clientgo.operator.errors.ConfigError` naming all that are missing. Blocks."""
    missing = sorted({r.group_resource for r in resources if not _is_served(client, r)})
    if missing:
        raise ConfigError(
            f"the API server does not have {', '.join(missing)}: install the definitions first, "
            "or pass check_crds=False to wait for them"
        )


def _is_served(client: Client, resource: APIResource) -> bool:
    try:
        served = client.discovery.resources(GroupVersion(resource.group, resource.version))
    except NotFoundError:
        return False
    return any(found.plural == resource.plural for found in served)
