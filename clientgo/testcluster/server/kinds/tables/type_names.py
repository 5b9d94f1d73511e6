"""Names of published types as tables and other data write them."""

from __future__ import annotations

from typing import Final

REPEATED_TYPES: Final = frozenset({"core.v1.PodSpec", "core.v1.Container"})
"""Large types whose values are mostly equal to earlier ones, so that these are remembered."""

_PREFIXES = (
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
)


def short_name(definition: str) -> str:
    """Return the name of a published type as tables write it: ``core.v1.Container``."""
    for prefix in _PREFIXES:
        if definition.startswith(prefix):
            return definition.removeprefix(prefix)
    return definition
