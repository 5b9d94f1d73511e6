"""Who everybody is: the embedded server authenticates nobody."""

from __future__ import annotations

from typing import Any

USER: dict[str, Any] = {
    "username": "clientgo",
    "groups": ["system:masters", "system:authenticated"],
}
"""The one user, as reviews tell of it."""
