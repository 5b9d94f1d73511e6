"""Labels as users write them: text in kubectl's form, or a mapping.

Errors name the setting.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientgo.meta.selectors import (
    Selector,
    SelectorError,
    parse_label_selector,
    selector_from_labels,
)
from clientgo.operator.errors import ConfigError


def selector_of(labels: str | Mapping[str, str] | Selector, where: str = "labels") -> Selector:
    """Return the selector that text in kubectl's form, or a mapping, describes; or the selector.

    Raises ``ConfigError``, which begins with ``where``, for what the API server would refuse.
    """
    if isinstance(labels, Selector):
        return labels
    try:
        if isinstance(labels, str):
            return parse_label_selector(labels)
        return selector_from_labels(labels, validate=True)
    except (SelectorError, AttributeError, TypeError) as error:
        raise ConfigError(f"{where}={labels!r} selects nothing: {error}") from error
