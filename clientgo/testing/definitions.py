"""Whether a definition of a custom resource is in force."""

from __future__ import annotations

from clientgo.api.apiextensions_v1 import CustomResourceDefinition


def is_established(definition: CustomResourceDefinition) -> bool:
    """Return True if the API server has accepted a definition, and serves its resource."""
    conditions = (definition.status.conditions if definition.status else None) or ()
    return any(item.type == "Established" and item.status == "True" for item in conditions)
